import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { sandboxMechanism } from "../../src/agents/isolation/probe.ts";
import type { FinalReport } from "../../src/protocol/generated/types.ts";
import { livingWith, pathOf } from "../agents/sandboxes.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";

const HAS_PROCESSES = (await sandboxMechanism("processes", process.env["PATH"])).ok;
const HAS_FILES = (await sandboxMechanism("files", process.env["PATH"])).ok;

const PLAN = tinyPlan([{ task_id: "write", shell: "echo hello > out.txt" }]);

/** The embedded crew, whose worker is kept to a sandbox. */
function crew(here: Rig, sandbox: string): string[] {
  const roles = { roles: [{ role_id: "shell", type: "worker", sandbox }] };
  return ["--crew", "embedded", "--roles", here.write("roles.json", JSON.stringify(roles))];
}

interface Worked {
  readonly code: number | null;
  readonly stderr: string;
  /** What the steps of the task printed, without what its worker said. */
  readonly said: (file: string) => string;
}

/** A run of one task of a worker in a sandbox, with the words of `check` as its criterion. */
async function worked(
  here: Rig,
  worker: { readonly sandbox: string; readonly permissions?: object },
  shell: string,
  check: readonly string[] = ["true"],
  {
    others = [],
    env = {},
    settings = {},
  }: { readonly others?: readonly object[]; readonly env?: Record<string, string>; readonly settings?: object } = {},
): Promise<Worked> {
  const more = { acceptance_criteria: [{ text: "checked", command: check }] };
  const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell, more }]));
  const roles = { roles: [{ role_id: "shell", type: "worker", ...worker }, ...others] };
  const crew = ["--crew", "embedded", "--roles", here.write("roles.json", JSON.stringify(roles))];
  const config = here.write("config.json", JSON.stringify({ max_attempts: 1, ...settings }));
  const args = ["run", "--plan", plan, ...crew, "--config", config, "--reporter", "silent"];
  const { code, stderr } = await here.run(args, { env });
  return { code, stderr, said: (file) => readFileSync(join(here.workspace, file), "utf8").trim() };
}

/** Shows sandboxes what is beside home and workspace, although that is in /tmp: a folder of the `PATH` stays visible. */
function visible(here: Rig): Record<string, string> {
  return { PATH: `${here.environment["PATH"] ?? ""}:${dirname(here.home)}` };
}

/** A `PATH` without a sandbox program. */
async function barePath(here: Rig): Promise<Record<string, string>> {
  return { PATH: await pathOf(dirname(here.home), ["sh", "cat", "sleep", "touch"]) };
}

const run = (here: Rig, ...more: string[]) => ["run", "--plan", here.write("plan.json", PLAN), ...more];

function opened(here: Rig, session_id: string): Record<string, string | undefined> {
  const file = join(here.home, "logs", session_id, "000001-session_opened.json");
  const { payload } = JSON.parse(readFileSync(file, "utf8")) as {
    payload: { roles: { role_id: string; sandbox?: string }[] };
  };
  return Object.fromEntries(payload.roles.map(({ role_id, sandbox }) => [role_id, sandbox]));
}

function reported(here: Rig, session_id: string): unknown {
  const file = join(here.home, "sessions", session_id, "final_report.json");
  return (JSON.parse(readFileSync(file, "utf8")) as FinalReport).sandboxes;
}

describe("a session's sandboxes", () => {
  it.runIf(HAS_PROCESSES)(
    "are processes for the envelope dialect by default, on record and in the report",
    async () => {
      const here = rig();
      expect(await typed(here, run(here, "--reporter", "silent"))).toMatchObject({ code: 0, stderr: "" });
      const session_id = await onlySession(here);
      const both = { playbook: "processes", shell: "processes" };
      expect(opened(here, session_id)).toEqual(both);
      expect(reported(here, session_id)).toEqual(both);
      const verdict = await typedJson(here, ["replay", session_id, "--verify", "--json"]);
      expect(verdict).toMatchObject({ ok: true, decisions: "ok" });
      expect((await typedJson<{ roles: object[] }>(here, ["roles", "--json"])).roles).toMatchObject([
        { role_id: "playbook", sandbox: "processes" },
        { role_id: "shell", sandbox: "processes" },
      ]);
    },
  );

  it.runIf(HAS_PROCESSES)("end every process that a worker or a check starts, with its turn", async () => {
    const here = rig();
    const word = `${200_000 + process.pid}.5`;
    const daemon = `setsid env -i PATH=/usr/bin:/bin sleep ${word} </dev/null >/dev/null 2>&1 &`;
    const check = { text: "it is there", command: ["sh", "-c", `${daemon} test -s out.txt`] };
    const more = { acceptance_criteria: [check] };
    const plan = tinyPlan([{ task_id: "write", shell: `${daemon} echo hello > out.txt`, more }]);
    const args = ["run", "--plan", here.write("plan.json", plan), "--reporter", "silent"];
    expect(await typed(here, args)).toMatchObject({ code: 0, stderr: "" });
    expect(livingWith(word)).toEqual([]);
  });

  it.runIf(HAS_FILES)("can be files: the worker sees and changes only its workspace", async () => {
    const here = rig();
    const secret = join(here.home, "bosun.db");
    const shell = `echo hello > out.txt; touch ${here.home}/owned ${dirname(here.home)}/owned; cat ${secret} >seen`;
    const plan = tinyPlan([
      { task_id: "write", shell: `${shell}; cat "$BOSUN_ARTIFACTS_DIR/../../plan.json" >/dev/null; true` },
    ]);
    const args = ["run", "--plan", here.write("plan.json", plan), ...crew(here, "files"), "--reporter", "silent"];
    expect(await typed(here, args)).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(join(here.workspace, "out.txt"), "utf8")).toBe("hello\n");
    expect(readFileSync(join(here.workspace, "seen"), "utf8")).toBe("");
    expect(() => readFileSync(join(here.home, "owned"))).toThrow("ENOENT");
    expect(() => readFileSync(join(dirname(here.home), "owned"))).toThrow("ENOENT");
    expect(reported(here, await onlySession(here))).toMatchObject({ shell: "files" });
  });

  it("are none by default where the machine has none, which doctor says", async () => {
    const here = rig();
    const env = await barePath(here);
    const ran = await typed(here, run(here, "--reporter", "silent"), env);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    const session_id = await onlySession(here);
    expect(opened(here, session_id)).toEqual({ playbook: undefined, shell: undefined });
    expect(reported(here, session_id)).toBeUndefined();
    const doctor = await typed(here, ["doctor"], env);
    expect(doctor.code).toBe(0);
    expect(doctor.stdout).toMatch(/-- {2}sandbox processes +.*unshare/);
    expect((await typed(here, ["roles"], env)).stdout).toMatch(/shell +worker +envelope +none/);
  });

  it("that a role asks for and the machine lacks are refused at once, with what is missing", async () => {
    const here = rig();
    const env = await barePath(here);
    const refused = await typed(here, run(here, ...crew(here, "offline")), env);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/The role shell .*"offline"/);
    expect(refused.stderr).toContain("bubblewrap (bwrap) is not on the PATH");
    expect(refused.stderr).toMatch(/Install bubblewrap|Only Linux/);
    expect(here.sessions()).toEqual([]);
    const doctor = await typed(here, ["doctor", ...crew(here, "offline")], env);
    expect(doctor.code).toBe(3);
    expect(doctor.stdout).toMatch(/!! +role shell .*"offline"/);
    const wrong = await typed(here, run(here, ...crew(here, "prison")), env);
    expect(wrong.code).toBe(3);
    expect(wrong.stderr).toContain("sandbox");
  });

  it.runIf(HAS_PROCESSES)("are required to resume, and a session refused without them can resume later", async () => {
    const here = rig();
    expect((await typed(here, run(here, "--budget-turns", "1", "--reporter", "silent"))).code).toBe(5);
    const session_id = await onlySession(here);
    const refused = await typed(here, ["resume", session_id, "--budget-turns", "90"], await barePath(here));
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/The role playbook .*"processes"/);
    writeFileSync(join(here.workspace, "out.txt"), "");
    expect((await typed(here, ["resume", session_id, "--budget-turns", "90", "--reporter", "silent"])).code).toBe(0);
  });
});

describe.runIf(HAS_FILES)("what a sandbox closes", () => {
  /** A repository, a project configuration, and programs of a role that takes no turn and of the person, whose settings are there, too. */
  function furnished(
    here: Rig,
    ...layout: readonly string[]
  ): { others: object[]; settings: object; env: Record<string, string> } {
    execFileSync("git", ["init", "-q", ...layout], { cwd: here.workspace });
    for (const folder of [".bosun", "tools/in", "conf/bosun"])
      mkdirSync(join(here.workspace, folder), { recursive: true });
    for (const file of KEPT) writeFileSync(join(here.workspace, file), "true\n");
    const other = { role_id: "other", type: "participant", cli_command: ["sh", "tools/in/other.sh"] };
    const notify = { command: ["sh", "tools/in/notify.sh"] };
    return { others: [other], settings: { notify }, env: { XDG_CONFIG_HOME: join(here.workspace, "conf") } };
  }

  const KEPT = [".bosun/note", "conf/bosun/note", "tools/in/other.sh", "tools/in/notify.sh"];

  const CHANGE_GIT = 'git config a.b c && echo "git is changed"; mv .git g && echo "git is moved"';

  it.each([
    ["in its folder", []],
    ["elsewhere in the workspace", ["--separate-git-dir", ".bare"]],
  ])("is the repository %s, the project's configuration and the programs of others", async (_where, layout) => {
    const here = rig();
    const more = furnished(here, ...layout);
    const files = `for f in .bosun/new ${KEPT.join(" ")}; do echo x >$f && echo $f is changed; done`;
    const moves = `for f in .bosun .bare conf tools/in/*.sh tools/in tools; do mv $f moved && echo $f is moved; done`;
    const free = "echo x >tools/in/new && rm tools/in/new && echo free";
    const shell = `{ ${CHANGE_GIT}; ${files}; ${moves}; ${free}; true; } >said 2>/dev/null`;
    const { code, said } = await worked(here, { sandbox: "offline" }, shell, ["true"], more);
    expect([code, said("said")]).toEqual([0, "free"]);
    expect(KEPT.map(said)).toEqual(KEPT.map(() => "true"));
  });

  it("is not the repository for a role that may use git", async () => {
    const here = rig();
    const more = furnished(here);
    const worker = { sandbox: "files", permissions: { commands: ["git *"] } };
    const { code, said } = await worked(here, worker, `{ ${CHANGE_GIT}; } >said 2>&1`, ["true"], more);
    expect([code, said("said")]).toEqual([0, "git is changed\ngit is moved"]);
  });

  it("is the state folder with all homes, and the home elsewhere", async () => {
    const here = rig();
    const state = join(dirname(here.home), "state", "bosun");
    mkdirSync(join(state, "another", "logs"), { recursive: true });
    for (const file of ["trusted", "another/bosun.db"]) writeFileSync(join(state, file), "known\n");
    const shell = `ls -A ${state} >said; cat ${state}/trusted ${state}/another/bosun.db ${here.home}/bosun.db >>said; true`;
    const check = ["sh", "-c", `test -z "$(ls -A ${state})"`];
    const { code, said } = await worked(here, { sandbox: "files" }, shell, check, { env: visible(here) });
    expect([code, said("said")]).toEqual([0, ""]);
  });
});

describe.runIf(HAS_FILES)("a check", () => {
  /** Tries everything that the sandbox of its worker forbids, and says what it could do. */
  const attempt = (here: Rig): string =>
    [
      `touch ${here.home}/owned ${dirname(here.home)}/owned && echo outside`,
      `cat ${here.home}/bosun.db`,
      "git config a.b c && echo git",
      "test $(wc -l </proc/net/dev) -gt 3 && echo network",
      'test -d /run -a -z "$(ls -A /run)" && echo offline',
      'echo kept >"$BOSUN_ARTIFACTS_DIR/made" && echo artifacts',
    ].join("\n");

  it.each(["files", "offline"])(
    "has its worker's sandbox %s, whatever the worker made of its script",
    async (sandbox) => {
      const here = rig();
      execFileSync("git", ["init", "-q"], { cwd: here.workspace });
      writeFileSync(join(here.workspace, "check.sh"), "exit 0\n");
      writeFileSync(join(here.workspace, "evil.sh"), `{ ${attempt(here)}\n} >said 2>/dev/null; exit 0\n`);
      const { code, said } = await worked(here, { sandbox }, "cp evil.sh check.sh", ["sh", "check.sh"], {
        env: visible(here),
      });
      expect(code).toBe(0);
      const network = readFileSync("/proc/net/dev", "utf8").trim().split("\n").length > 3 ? ["network"] : [];
      expect(said("said").split("\n")).toEqual([...(sandbox === "files" ? network : ["offline"]), "artifacts"]);
      expect([here.home, dirname(here.home)].filter((folder) => existsSync(join(folder, "owned")))).toEqual([]);
    },
  );

  it("has the strictest sandbox of all workers, because it runs what any of them wrote", async () => {
    const here = rig();
    const others = [{ role_id: "other", type: "worker", cli_command: ["cat"], sandbox: "offline" }];
    const check = ["sh", "-c", 'test -z "$(ls -A /run)"'];
    expect((await worked(here, { sandbox: "none" }, "true", check, { others })).code).toBe(0);
    expect((await worked(here, { sandbox: "none" }, "true", check)).code).toBe(1);
  });

  it("is ended with all that it started when its time is over", async () => {
    const here = rig();
    const word = `${300_000 + process.pid}.5`;
    const more = {
      acceptance_criteria: [{ text: "slow", command: ["sh", "-c", `sleep ${word} & sleep ${word}`], timeout_s: 1 }],
    };
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true", more }]));
    expect((await typed(here, ["run", "--plan", plan, ...crew(here, "offline"), "--reporter", "silent"])).code).toBe(1);
    expect(livingWith(word)).toEqual([]);
  });

  it("that is cut off by the scheduler's death runs again in that sandbox", async () => {
    const here = rig();
    const word = `${400_000 + process.pid}.5`;
    const check = `touch ${dirname(here.home)}/owned; test -e go || exec sleep ${word}`;
    const more = { acceptance_criteria: [{ text: "twice", command: ["sh", "-c", check] }] };
    const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true", more }]));
    const args = ["run", "--plan", plan, ...crew(here, "files"), "--session", "s-cut", "--reporter", "silent"];
    expect((await here.run(args, { env: { BOSUN_CRASH_AT: "check_running:1" } })).signal).toBe("SIGKILL");
    writeFileSync(join(here.workspace, "go"), "");
    expect((await here.run(["resume", "s-cut", "--reporter", "silent"])).code).toBe(0);
    expect([livingWith(word), existsSync(join(dirname(here.home), "owned"))]).toEqual([[], false]);
    expect(await typedJson(here, ["replay", "s-cut", "--verify", "--json"])).toMatchObject({
      ok: true,
      decisions: "ok",
    });
  });

  it("does not believe a shell of the workspace that its PATH leads to, nor does a notification run it", async () => {
    const here = rig();
    const bin = join(here.workspace, "bin");
    const owned = join(dirname(here.home), "owned");
    const shell = `mkdir bin && printf '#!/bin/sh\\ntouch ${owned}; exit 97\\n' >bin/sh && chmod +x bin/sh`;
    const env = { PATH: `${bin}:${here.environment["PATH"] ?? ""}` };
    const settings = { notify: { command: ["/bin/true"] } };
    expect((await worked(here, { sandbox: "files" }, shell, ["false"], { env, settings })).code).toBe(1);
    expect(existsSync(owned)).toBe(false);
  });
});

describe("programs in the workspace that agents of other roles can change", () => {
  it("are told by doctor, run and the plan gate, unless a sandbox or their place prevents it", async () => {
    const here = rig();
    for (const name of ["boss.sh", "plain.sh"]) writeFileSync(join(here.workspace, name), "cat >/dev/null\n");
    const boss = { role_id: "other", type: "participant", cli_command: ["sh", "boss.sh"] };
    const roles = (sandbox: string, other: object = boss) => [
      ...["--crew", "embedded", "--roles"],
      here.write(
        "roles.json",
        JSON.stringify({
          roles: [
            { role_id: "shell", type: "worker", sandbox },
            { role_id: "playbook", type: "manager", sandbox },
            other,
          ],
        }),
      ),
    ];
    const told = /can change boss\.sh, which other runs/;
    const found = async (args: readonly string[]) =>
      (
        await typedJson<{ findings: { name: string; what: string }[] }>(here, ["doctor", "--json", ...args])
      ).findings.filter(({ name }) => name === "programs");
    expect(await found(roles("none"))).toMatchObject([{ state: "poor", what: expect.stringMatching(told) as string }]);
    const gated = await typed(here, run(here, ...roles("none"), "--ask-plan", "--no-input", "--session", "s-gate"));
    expect(gated).toMatchObject({ code: 4, stderr: expect.stringMatching(told) as string });
    expect((await typed(here, ["plan", "s-gate"])).stdout).toMatch(told);
    const outside = here.write("boss.sh", "cat >/dev/null\n");
    expect(await found(roles("none", { ...boss, cli_command: ["sh", outside] }))).toEqual([]);
    expect(
      await found(roles(HAS_FILES ? "files" : "none", HAS_FILES ? boss : { ...boss, cli_command: ["cat"] })),
    ).toEqual([]);
  });
});
