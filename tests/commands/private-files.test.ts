import { execFile } from "node:child_process";
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { rig, type Rig, tinyPlan } from "./rig.ts";

const start = promisify(execFile);

/** Runs a command line in a process with this umask, with the home of the repository. Resolves with what it said, whatever its exit code. */
async function under(
  umask: string,
  here: Rig,
  ...words: string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ["-c", 'umask "$0"; exec "$@"', umask, process.execPath, built("cli.js"), ...words];
  const ran = start("sh", command, { cwd: here.workspace, env: here.environment, timeout: 30_000 });
  return ran.then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

/** Everything below a folder, and the folder, that group or others may use. What agents wrote themselves has the modes that they gave it. */
function openBelow(folder: string): string[] {
  const entries = lstatSync(folder).isDirectory() ? readdirSync(folder, { recursive: true, encoding: "utf8" }) : [];
  const all = entries.map((entry) => join(folder, entry));
  const kept = [folder, ...all].filter((path) => !/\/work\/[^/]+\//.test(path));
  return kept.filter((path) => (lstatSync(path).mode & 0o077) !== 0);
}

function stateOf(here: Rig): string {
  return join(here.environment["XDG_STATE_HOME"] ?? "", "bosun");
}

const PLAN = tinyPlan([
  {
    task_id: "a",
    shell: 'echo kept > "$BOSUN_ARTIFACTS_DIR/kept.txt"; echo said',
    more: { expected_outputs: ["kept.txt"] },
  },
]);

describe("what Bosun keeps", () => {
  it.for(["000", "077"])(
    "is closed to other users under umask %s, and what a person asks for is not",
    async (umask) => {
      const here = rig();
      const plan = here.write("plan.json", PLAN);
      const settings = JSON.stringify({ notify: { command: ["sh", "-c", "cat >/dev/null"] } });
      const config = ["--config", here.write("settings.json", settings)];
      here.write(
        "workspace/.bosun/roles.json",
        JSON.stringify({ roles: [{ role_id: "w", type: "worker", cli_command: ["true"] }] }),
      );
      expect((await under(umask, here, "trust", "--yes")).code).toBe(0);
      expect(await under(umask, here, "run", "--plan", plan, "--crew", "embedded", ...config)).toMatchObject({
        code: 0,
      });
      await under(umask, here, "run", "--plan", plan, "--detach");
      await under(umask, here, "wait");
      await under(umask, here, "run", "--plan", plan, "--home", join(stateOf(here), "named"));
      for (const words of [
        ["report"],
        ["replay", "--verify"],
        ["conformance", "--role", "worker", "--", "true"],
        ["rebuild"],
      ])
        await under(umask, here, ...words);
      const page = join(here.workspace, "page.html");
      const [newest = ""] = (await under(umask, here, "status", "--all")).stdout.match(/s-[a-z0-9]+/) ?? [];
      expect(await under(umask, here, "report", newest, "--html", page)).toMatchObject({ code: 0 });
      expect(statSync(page).mode & 0o777).toBe(0o666 & ~Number.parseInt(umask, 8));
      const names = readdirSync(stateOf(here), { recursive: true, encoding: "utf8" }).map((path) => basename(path));
      for (const name of [
        "trusted",
        "homes",
        "bosun.db",
        "events.log",
        "owner.lock",
        "final_report.json",
        "kept.txt",
        "scheduler.log",
        "output",
      ])
        expect(names.some((one) => one.endsWith(name)) ? name : `no ${name}`).toBe(name);
      expect(openBelow(stateOf(here))).toEqual([]);
    },
  );

  it("is closed by the next command that writes, once and told, where an older version left it open", async () => {
    const here = rig();
    const plan = here.write("plan.json", PLAN);
    await under("022", here, "run", "--plan", plan);
    const [name = ""] = readdirSync(stateOf(here));
    const home = join(stateOf(here), name);
    for (const path of [stateOf(here), home, join(home, "logs"), join(home, "sessions")]) chmodSync(path, 0o777);
    chmodSync(join(home, "bosun.db"), 0o666);
    const [first, second] = [
      await under("022", here, "run", "--plan", plan),
      await under("022", here, "run", "--plan", plan),
    ];
    expect([first.code, first.stderr.split("\n").filter((line) => line.startsWith("Tightened"))]).toEqual([
      0,
      [expect.stringContaining("bosun.db")],
    ]);
    expect(second.stderr).not.toContain("Tightened");
    expect(openBelow(stateOf(here))).toEqual([]);
  });

  it("is where programs are compiled, of which nothing counts that others could write", async () => {
    const here = rig();
    const cache = join(here.home, "..", "cache");
    const environment: Record<string, string> = { ...here.environment, XDG_CACHE_HOME: cache };
    delete environment["NODE_COMPILE_CACHE"];
    const command = ["-c", 'umask 000; exec "$0" "$@"', process.execPath, built("bin.js"), "status"];
    const run = () => start("sh", command, { cwd: here.workspace, env: environment }).catch(() => {});
    await run();
    expect([statSync(join(cache, "bosun")).mode & 0o777, existsSync(join(cache, "bosun/compiled"))]).toEqual([
      0o700,
      true,
    ]);
    chmodSync(join(cache, "bosun"), 0o777);
    const planted = here.write("cache/bosun/compiled/planted", "x");
    await run();
    expect([statSync(join(cache, "bosun")).mode & 0o777, existsSync(planted)]).toEqual([0o700, false]);
    expect(existsSync(join(cache, "bosun/compiled"))).toBe(true);
  });

  it("is closed in a folder that holds other things, too, but the folder is not", async () => {
    const here = rig();
    const plan = here.write("plan.json", PLAN);
    chmodSync(here.workspace, 0o755);
    here.write("workspace/README.md", "mine");
    for (const _ of ["first", "again"])
      expect((await under("000", here, "--home", ".", "run", "--plan", plan)).code).toBe(0);
    expect(statSync(here.workspace).mode & 0o777).toBe(0o755);
    for (const name of ["bosun.db", "logs", "sessions"]) expect(openBelow(join(here.workspace, name))).toEqual([]);
    expect(
      existsSync(join(here.workspace, "README.md")) && readFileSync(join(here.workspace, "README.md"), "utf8"),
    ).toBe("mine");
  });
});
