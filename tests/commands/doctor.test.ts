import { describe, expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";

describe("bosun roles and doctor", () => {
  it("shows who would take part, never the values of their variables", async () => {
    const here = rig();
    const roles = here.write(
      "roles.json",
      JSON.stringify({ roles: [{ role_id: "shell", type: "worker", env: { MY_KEY: "hunter2" } }] }),
    );
    const told = await typed(here, ["roles", "--crew", "embedded", "--roles", roles, "--json"]);
    expect(JSON.parse(told.stdout)).toMatchObject({
      roles: [{ role_id: "playbook" }, { role_id: "shell", env: ["MY_KEY"] }],
    });
    expect(told.stdout).not.toContain("hunter2");
  });

  it("finds everything there for the embedded crew, makes no home, and names what another crew lacks", async () => {
    const here = rig();
    const good = await typed(here, ["doctor"]);
    expect(good.code).toBe(0);
    expect(good.stdout).toContain("(made by the first run)");
    expect(here.sessions()).toEqual([]);
    const bad = await typed(here, ["doctor", "--worker", "no-such-program-here", "--json"]);
    expect(bad.code).toBe(3);
    const { findings } = JSON.parse(bad.stdout) as { findings: { name: string; state: string }[] };
    expect(findings.filter((finding) => finding.state === "missing").map((finding) => finding.name)).toEqual([
      "role worker",
    ]);
  });

  it("says first of a program that cannot be spoken to yet that it cannot, whether it is installed or not", async () => {
    const here = rig();
    const told = await typed(here, ["doctor", "--crew", "claude"]);
    expect([told.code, told.stdout]).toEqual([
      3,
      expect.stringMatching(
        /role worker_claude +The role worker_claude is spoken to in the dialect claude, which this/,
      ),
    ]);
    expect(told.stdout).not.toContain("Install it");
    for (const command of ["run", "doctor"])
      expect((await typed(here, ["help", command])).stdout).not.toMatch(/claude|codex/);
  });

  it("says of a second manager when it is asked", async () => {
    const here = rig();
    const manager = (role_id: string) => ({ role_id, type: "manager", cli_command: ["true"] });
    const roles = here.write("roles.json", JSON.stringify({ roles: [manager("one"), manager("two")] }));
    const looked = (await typed(here, ["doctor", "--roles", roles])).stdout;
    expect(looked).toMatch(/role one +manager, (?!.*asked)/);
    expect(looked).toMatch(/role two +manager, .*, asked only while one is busy or held\n/);
    const listed = (await typed(here, ["roles", "--roles", roles])).stdout;
    expect(listed).toContain("\ntwo is asked only while one is busy or held\nnext");
  });

  it("shows what is wrong in a file where it stands there, as a run does", async () => {
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

  it("says of permissions that nothing keeps them yet", async () => {
    const here = rig();
    const shell = { role_id: "shell", type: "worker", permissions: { mode: "read" } };
    const told = await typed(here, [
      "doctor",
      "--crew",
      "embedded",
      "--roles",
      here.write("roles.json", JSON.stringify({ roles: [shell] })),
    ]);
    expect([told.code, told.stdout]).toEqual([
      0,
      expect.stringMatching(/--\s+role shell .*this version cannot hold it to its permissions yet/),
    ]);
  });

  it("names the proxies that agents do not get, but not what is in them", async () => {
    const here = rig();
    const proxies = { HTTPS_PROXY: "http://ada:hunter2@proxy", http_proxy: "ada@proxy", ALL_PROXY: "http://proxy" };
    const told = await typed(here, ["doctor"], proxies);
    expect([told.code, told.stdout]).toEqual([
      0,
      expect.stringContaining("--  proxy                no agent and no check gets HTTPS_PROXY and http_proxy: "),
    ]);
    expect(told.stdout).not.toMatch(/hunter2|ada@/);
    expect((await typed(here, ["doctor"], { ALL_PROXY: "http://proxy" })).stdout).not.toContain("proxy");
  });
});
