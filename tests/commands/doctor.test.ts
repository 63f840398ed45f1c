import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { envelopeCrew, FAKE_MANAGER, FAKE_WORKER, fakePrograms } from "./fake-programs.ts";
import { typed } from "./in-process.ts";
import { type Rig, rig } from "./rig.ts";
import { open } from "./terminal.ts";

interface Finding {
  readonly name: string;
  readonly state: "ok" | "poor" | "missing" | "off";
  readonly what: string;
  readonly hint?: string;
  readonly code?: string;
}

async function doctor(here: Rig, args: readonly string[] = [], env: Record<string, string> = {}) {
  const { code, stdout } = await typed(here, ["doctor", "--json", ...args], env);
  const { findings } = JSON.parse(stdout) as { findings: Finding[] };
  return { code, missing: findings.filter(({ state }) => state === "missing"), of: byName(findings) };
}

function byName(findings: readonly Finding[]) {
  return (name: string) => findings.find((finding) => finding.name === name);
}

const containing = (text: string) => expect.stringContaining(text) as string;

describe("bosun roles and doctor", () => {
  it("roles shows the roles of a run, but no values of their variables", async () => {
    const here = rig();
    const roles = here.write(
      "roles.json",
      JSON.stringify({ roles: [{ role_id: "shell", type: "worker", env: { MY_KEY: "hunter2" } }] }),
    );
    const shown = await typed(here, ["roles", "--crew", "embedded", "--roles", roles, "--json"]);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      roles: [{ role_id: "playbook" }, { role_id: "shell", env: ["MY_KEY"] }],
    });
    expect(shown.stdout).not.toContain("hunter2");
  });

  it("both show which passed variables are set, and no values", async () => {
    const here = rig();
    const args = ["--worker", "true", "--pass-env", "MY_KEY", "--pass-env", "OTHER_KEY"];
    const env = { MY_KEY: "hunter2" };
    const shown = await typed(here, ["roles", ...args], env);
    expect(shown.stdout).toContain("worker sees MY_KEY, OTHER_KEY (not set here)");
    expect((await typed(here, ["roles", "--json", ...args], env)).stdout).not.toContain("hunter2");
    const { of } = await doctor(here, args, env);
    expect(of("role worker")).toMatchObject({ state: "poor", what: containing("not set here: OTHER_KEY") });
    const wrong = [
      ["--pass-env", "KEY"],
      [...args, "--pass-env", "A=1"],
    ];
    for (const each of wrong) expect(await typed(here, ["roles", ...each])).toMatchObject({ code: 2 });
  });

  it("doctor accepts the embedded crew, creates no home, and names a missing program", async () => {
    const here = rig();
    expect(await doctor(here)).toMatchObject({ code: 0, missing: [] });
    expect(here.sessions()).toEqual([]);
    const loose = JSON.stringify({
      roles: [{ role_id: "loose", type: "worker", cli_command: ["cat"], sandbox: "none" }],
    });
    const open = await doctor(here, ["--roles", here.write("loose.json", loose)]);
    expect(open.of("isolation")).toMatchObject({ state: "poor", what: containing("loose: its agents run with all") });
    const bad = await doctor(here, ["--worker", "no-such-program-here"]);
    expect(bad).toMatchObject({
      code: 3,
      missing: [{ name: "role worker", what: containing("no-such-program-here") }],
    });
  });

  it("doctor names an unsupported backend", async () => {
    const here = rig();
    const roles = [{ role_id: "mind", type: "worker", backend: "human" }];
    const { code, of } = await doctor(here, ["--roles", here.write("roles.json", JSON.stringify({ roles }))]);
    expect(code).toBe(3);
    expect(of("role mind")).toMatchObject({ state: "missing", what: containing("the backend human") });
    expect(of("role mind")?.hint).not.toContain("Install it");
  });

  it("doctor says which model a role has and where, and names the variable of a key that is missing", async () => {
    const here = rig();
    const of = async (env: Record<string, string>) => {
      const ended = await typed(here, ["doctor", "--json", "--crew", "model"], env);
      const { findings } = JSON.parse(ended.stdout) as { findings: { name: string; what: string; state: string }[] };
      return { exit: ended.code, ...findings.find(({ name }) => name === "role worker_model") };
    };
    expect(await of({})).toMatchObject({ exit: 3, state: "missing", what: containing("set ANTHROPIC_API_KEY") });
    expect(await of({ ANTHROPIC_API_KEY: "sk-test-123456", LLM_MODEL: "claude-x" })).toMatchObject({
      exit: 0,
      what: containing("anthropic/claude-x at https://api.anthropic.com/v1, key in ANTHROPIC_API_KEY"),
    });
  });

  it("doctor misses what a run is refused for, with the same code and words", async () => {
    const here = rig();
    const settings = [{ budget: { turns: 0 } }, { budget: { usd: 5 } }, { workspace: "/no/such/place" }];
    for (const [index, setting] of settings.entries()) {
      const config = here.write(`${index}.json`, JSON.stringify(setting));
      const args = ["--crew", "codex", "--config", config];
      const env = { ...fakePrograms(here, { codex: { version: "0.169.0" } }), CODEX_API_KEY: "k" };
      const { code, missing } = await doctor(here, args, env);
      const run = await typed(here, ["run", "Do it.", "--json", ...args], env);
      const refused = JSON.parse(run.stdout) as Pick<Finding, "code" | "hint"> & { message: string };
      expect([code, run.code]).toEqual([3, 2]);
      expect(missing).toMatchObject([{ what: refused.message, code: refused.code, hint: refused.hint }]);
    }
  });

  it("doctor shows an error in a file with its place, like run", async () => {
    const here = rig();
    const config = here.write("n.yaml", "max_workers: 2\nnotify:\n  command: [true]\n  on: [question, questions]\n");
    const { stderr } = await typed(here, ["run", "Do it.", "--manager", "true", "--config", config]);
    const [what = "", ...more] = stderr
      .replace(/^Error: /, "")
      .trimEnd()
      .split("\n");
    expect(more.length).toBeGreaterThan(1);
    const indented = more.map((line) => `${" ".repeat(25)}${line}\n`).join("");
    expect((await typed(here, ["doctor", "--config", config])).stdout).toContain(
      `!!  ${"settings".padEnd(20)} ${what}\n${indented}`,
    );
  });

  it("doctor warns that an envelope program is not told its permissions", async () => {
    const here = rig();
    const shell = { role_id: "shell", type: "worker", permissions: { write: "none" } };
    const roles = here.write("roles.json", JSON.stringify({ roles: [shell] }));
    const { code, of } = await doctor(here, ["--crew", "embedded", "--roles", roles]);
    expect([code, of("role shell")]).toMatchObject([0, { state: "poor", what: containing("permissions") }]);
  });

  it("doctor shows what an auth profile passes, and names the known ones for an unknown", async () => {
    const here = rig();
    const config = here.write("c.json", JSON.stringify({ auth_profiles: { work: { pass_env: ["WORK_KEY"] } } }));
    const look = async (auth_profile: string) => {
      const hand = { role_id: "hand", type: "worker", cli_command: ["true"], metadata: { auth_profile } };
      const roles = here.write("roles.json", JSON.stringify({ roles: [hand] }));
      return (await doctor(here, ["--roles", roles, "--config", config], { WORK_KEY: "hunter2" })).of("role hand");
    };
    expect(await look("work")).toMatchObject({ state: "ok", what: containing("sees WORK_KEY") });
    expect(await look("wrok")).toMatchObject({ state: "missing", what: containing("work") });
  });

  it("doctor names the proxies that agents do not get, but not their values", async () => {
    const here = rig();
    const proxies = { HTTPS_PROXY: "http://ada:hunter2@proxy", http_proxy: "ada@proxy", ALL_PROXY: "http://proxy" };
    const { code, of } = await doctor(here, [], proxies);
    expect([code, of("proxy")]).toMatchObject([0, { state: "poor", what: containing("HTTPS_PROXY and http_proxy:") }]);
    expect(JSON.stringify(of("proxy"))).not.toMatch(/hunter2|ada@/);
    expect((await doctor(here, [], { ALL_PROXY: "http://proxy" })).of("proxy")).toBeUndefined();
  });

  it("doctor tells version and login of each agent program, with the remedy", async () => {
    const here = rig();
    const crew = (programs: Parameters<typeof fakePrograms>[1], env: Record<string, string> = {}) =>
      doctor(here, ["--crew", "codex-claude"], { ...fakePrograms(here, programs), ...env });
    const codex = { version: "0.170.0" };
    const fresh = await crew({ codex, claude: { version: "2.1.331", logged_in: false } }, { ANTHROPIC_API_KEY: "k" });
    expect(fresh).toMatchObject({ code: 0, missing: [] });
    expect(fresh.of("codex")).toMatchObject({ state: "poor", what: containing("0.170.0, tested up to 0.169.0") });
    expect(fresh.of("claude")).toMatchObject({ state: "ok", what: containing("logged in by ANTHROPIC_API_KEY") });
    const out = await crew({ codex, claude: { version: "2.1.331", logged_in: false } });
    expect(out.missing).toMatchObject([{ name: "claude", hint: containing("ANTHROPIC_API_KEY") }]);
    const old = await crew({ codex, claude: { version: "2.0.1" } });
    expect(old.missing).toMatchObject([
      { name: "claude", hint: containing("npm install -g @anthropic-ai/claude-code") },
    ]);
  });

  it("doctor names every agent program, with what installs it, and says what works, without a terminal, too", async () => {
    const here = rig();
    const programs = { codex: { version: "0.169.0", logged_in: false }, claude: { version: "2.1.331" } };
    const none = await typed(here, ["doctor"], fakePrograms(here, {}));
    expect([none.code, none.stdout]).toEqual([0, containing("Plan files work here")]);
    for (const name of ["claude", "codex", "opencode", "gemini", "claude-agent-acp"])
      expect(none.stdout).toMatch(new RegExp(`\\n    ${name} .*not installed\\n +npm install -g`));
    const path = { ...fakePrograms(here, programs), CODEX_API_KEY: "k" };
    const { code, stdout } = await typed(here, ["doctor"], path);
    expect([code, stdout]).toEqual([0, containing("works here: codex-claude: codex manages, claude works")]);
    expect(stdout).toContain("opencode is not installed");
    const alone = await typed(here, ["doctor", "--crew", "claude"], fakePrograms(here, programs));
    expect([alone.code, alone.stdout]).toEqual([0, containing("Here is codex, which is not logged in")]);
  });

  it("doctor leads to trust where the project's configuration needs it", async () => {
    const here = rig();
    const path = fakePrograms(here, {});
    await typed(here, ["init"], path);
    expect((await typed(here, ["doctor"], path)).stdout).toMatch(/next +bosun trust\n/);
  });

  it("doctor notes a version that is older than tested, and refuses only one that is known to miss flags", async () => {
    const here = rig();
    const programs = { codex: { version: "0.1.0" }, claude: { version: "2.1.331" } };
    const { code, of } = await doctor(here, ["--crew", "codex-claude"], fakePrograms(here, programs));
    expect([code, of("codex")]).toMatchObject([0, { state: "ok", what: containing("0.1.0, older than the tested") }]);
  });

  it("doctor --try gives each role a turn away from the workspace, and exits with 3 if one fails", async () => {
    const here = rig();
    const log = here.write("turns", "");
    const failing = here.write("failing.sh", `pwd >>'${log}'; echo no key >&2; exit 7\n`);
    const manager = here.write("manager.sh", `pwd >>'${log}'; exec ${FAKE_MANAGER}\n`);
    const args = ["--try", "--manager", `sh ${manager}`, "--worker", `sh ${failing}`];
    expect(await typed(here, ["doctor", ...args])).toMatchObject({ code: 4, stdout: "" });
    expect(readFileSync(log, "utf8")).toBe("");
    const { code, missing, of } = await doctor(here, [...args, "--yes"]);
    expect([code, of("try manager")?.state]).toEqual([3, "ok"]);
    expect(missing).toMatchObject([{ name: "try worker", what: containing("no key") }]);
    const places = readFileSync(log, "utf8").trim().split("\n");
    expect(places.map((place) => [place === here.workspace, existsSync(place)])).toEqual([
      [false, false],
      [false, false],
    ]);
    const good = ["--try", "--yes", "--json", "--manager", FAKE_MANAGER, "--worker", FAKE_WORKER];
    const { stdout } = await typed(here, ["doctor", ...good]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, trials: [{ role_id: "manager" }, { role_id: "worker" }] });
  });

  it("doctor --try tries the crew that a run takes, asks before, and breaks its lines at words", async () => {
    const here = rig();
    envelopeCrew(here, "codex-claude", "codex", "claude");
    const programs = {
      codex: { version: "0.169.0", turn: FAKE_MANAGER },
      claude: { version: "2.1.331", turn: FAKE_WORKER },
    };
    const pane = open(here, ["doctor", "--try"], fakePrograms(here, programs), 80);
    await pane.asks("Try them?");
    const lines = pane.screen().split("\n");
    const from = lines.findIndex((line) => line.includes("sandbox files"));
    const until = lines.findIndex((line) => line.startsWith("Each of these roles"));
    expect(lines.slice(from, until).filter((line) => !/^((ok|--|!!|  )  \S| {25}\S)/.test(line))).toEqual([]);
    pane.type("y", "Enter");
    await pane.shows("--crew codex-claude");
    expect(await pane.exit()).toBe(0);
  });

  it("doctor says for each agent program what holds it, and whether it trusts the workspace", async () => {
    const here = rig();
    const programs = fakePrograms(here, { codex: { version: "0.169.0" }, gemini: { version: "0.61.0" } });
    const look = (codex = "codex") =>
      doctor(here, ["--manager", codex, "--worker", "gemini"], { ...programs, GEMINI_API_KEY: "k" });
    const plain = await look();
    expect(plain.of("trust codex")).toBeUndefined();
    expect(plain.of("trust gemini")).toMatchObject({ state: "poor", what: containing("asks for each change") });
    expect(plain.of("isolation")).toMatchObject({ state: "ok", what: containing("sandbox of its own") });
    mkdirSync(join(here.workspace, ".codex"));
    writeFileSync(join(here.workspace, ".codex", "config.toml"), "");
    expect((await look()).of("trust codex")).toMatchObject({ state: "poor", what: containing("config.toml") });
    const workspace = realpathSync(here.workspace);
    here.write(".codex/config.toml", `[projects."${workspace}"]\ntrust_level = "trusted"\n`);
    here.write(".gemini/trustedFolders.json", JSON.stringify({ [dirname(workspace)]: "TRUST_FOLDER" }));
    const trusted = await look("codex --yolo");
    expect(trusted.of("trust codex")?.state).toBe("ok");
    expect(trusted.of("trust gemini")?.state).toBe("ok");
    expect(trusted.of("isolation")).toMatchObject({ state: "poor", what: containing("--yolo") });
    here.write(".gemini/trustedFolders.json", JSON.stringify({ [workspace]: "DO_NOT_TRUST", "/": "TRUST_FOLDER" }));
    expect((await look()).of("trust gemini")?.state).toBe("poor");
  });
});
