import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { built, compiledOnce } from "../built.ts";
import { ROOT, rig, until } from "./rig.ts";
import { letGo, taskRuns, WAIT } from "./waiting-task.ts";

/** Inside the package, because the program looks for its shipped files in the folders above its own. */
const CACHE = join(ROOT, "node_modules", ".cache");

const dist = built();

const bosun = (args: readonly string[], options: { readonly node?: readonly string[]; readonly cwd?: string } = {}) =>
  spawnSync(process.execPath, [...(options.node ?? []), join(dist, "bin.js"), ...args], {
    encoding: "utf8",
    cwd: options.cwd ?? dist,
  });

const VERSION = (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;

describe("the bundled program", () => {
  it("prints its version for --version alone and among other arguments", () => {
    expect(bosun(["--version"])).toMatchObject({ status: 0, stdout: `${VERSION}\n`, stderr: "" });
    expect(bosun(["--home", dist, "--version"])).toMatchObject({ status: 0, stdout: `${VERSION}\n`, stderr: "" });
  });

  it("names the Node that it needs on one that is too old, and loads nothing else", () => {
    for (const version of ["12.22.0", "20.20.2", "22.13.1"]) {
      const pretend = `data:text/javascript,Object.defineProperty(process.versions,"node",{value:"${version}"})`;
      const refused = bosun(["status"], { node: ["--import", pretend] });
      expect(refused.status).toBe(3);
      expect(refused.stderr).toMatch(new RegExp(`^Error: .*\\b22\\.14\\b.*\\b${version} \\(`));
      expect(refused.stdout).toBe("");
    }
  });

  it.skipIf(process.platform !== "linux")("runs where its cache can never be made", () => {
    const lost = rig();
    const env = { ...lost.environment, HOME: "/proc/nobody", BOSUN_HOME: lost.home };
    const node = [join(dist, "bin.js"), "status"];
    const ran = spawnSync(process.execPath, node, { encoding: "utf8", env, cwd: lost.workspace, timeout: 30_000 });
    expect([ran.signal, ran.status, ran.stdout]).toEqual([null, 0, expect.stringContaining("No session has run here")]);
  });

  it("loads the server of editors only for it", async () => {
    const here = rig();
    const seen = here.write("seen", "");
    const hook = `import { registerHooks } from "node:module"; import { appendFileSync } from "node:fs";
      registerHooks({ load(url, context, next) { appendFileSync(process.env.SEEN, url + "\\n"); return next(url, context); } });`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(hook)}`;
    const loads = async (args: readonly string[]) => {
      writeFileSync(seen, "");
      await here.run(args, { env: { SEEN: seen, NODE_OPTIONS } });
      const files = readFileSync(seen, "utf8")
        .split("\n")
        .filter((url) => url.startsWith("file:"));
      expect(files.length).toBeGreaterThan(1);
      return files.some((url) => readFileSync(fileURLToPath(url), "utf8").includes("StdioServerTransport"));
    };
    expect(await loads(["mcp"])).toBe(true);
    for (const args of [["--version"], ["status"], ["inbox"], ["help", "all"]])
      expect([args, await loads(args)]).toEqual([args, false]);
  });

  it("starts the crew of its own build", () => {
    const here = rig();
    const { stdout } = bosun(["--home", here.home, "roles", "--json"], { cwd: here.workspace });
    const { roles } = JSON.parse(stdout) as { roles: { cli_command: string[] }[] };
    const [playbook, shell] = roles.map(({ cli_command }) => cli_command[1]);
    expect([playbook, shell]).toEqual([join(dist, "crew", "playbook.js"), join(dist, "crew", "shell.js")]);
  });

  it("reads a plan file with merge keys in the crew as in the program", async () => {
    const here = rig();
    const plan = ["tasks:", "  - &a {task_id: a, description: A, instruction: {summary: s, steps: [{shell: 'true'}]}}"];
    const file = here.write("plan.yaml", [...plan, "  - {<<: *a, task_id: b}", ""].join("\n"));
    expect(await here.run(["run", "--plan", file])).toMatchObject({ code: 0 });
  });

  it("uses only syntax that an old Node can parse up to that message", () => {
    const text = readFileSync(join(dist, "bin.js"), "utf8");
    expect(text.startsWith("#!/usr/bin/env node\n")).toBe(true);
    expect(text).not.toMatch(/\?\?|\?\.|\bawait\b|^import /m);
  });

  it("attaches to the end of a session although its files are replaced meanwhile", async () => {
    const here = rig();
    const earlier = mkdtempSync(join(CACHE, "bosun-bundle-"));
    onTestFinished(() => rmSync(earlier, { recursive: true, force: true }));
    // Other tests write to the compile cache meanwhile.
    const { NODE_COMPILE_CACHE } = compiledOnce();
    cpSync(dist, earlier, { recursive: true, filter: (from) => from !== NODE_COMPILE_CACHE });
    const owner = here.start(["run", "--plan", here.write("plan.json", WAIT)]);
    await taskRuns(here);
    const viewer = spawn(process.execPath, [join(earlier, "bin.js"), "--home", here.home, "attach"], {
      cwd: here.workspace,
      env: { ...here.environment },
    });
    let shown = "";
    for (const stream of [viewer.stdout, viewer.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => (shown += text));
    await until("the viewer to be there", () => shown.includes("in_progress"));
    rmSync(join(earlier, "chunks"), { recursive: true });
    letGo(here);
    await new Promise((settle) => viewer.once("close", settle));
    expect([viewer.exitCode, shown]).toEqual([0, expect.stringContaining("is done: 1 of 1 ticket done")]);
    expect((await owner.done).code).toBe(0);
  });

  it("reads YAML in the command line and in the crew, and finds its shipped files", () => {
    const here = rig();
    const wrong = here.write("wrong.yaml", "requirement: x\ntasks:\n  - task_id: a\n    descripton: d\n");
    const refused = bosun(["--home", here.home, "run", "--plan", wrong], { cwd: here.workspace });
    expect(refused.status).toBe(3);
    expect(refused.stderr).toContain("wrong.yaml:4:5:");
    const plan = here.write("plan.yaml", "requirement: x\ntasks:\n  - task_id: a\n    description: d\n");
    const payload = {
      turn_id: "t1",
      role_id: "m",
      expects: ["plan"],
      message: { payload_type: "requirement", payload: { text: "x" } },
      context: {},
      limits: {},
      workspace: here.workspace,
      artifacts_dir: here.workspace,
    };
    const turn = {
      session_id: "s",
      source: "scheduler",
      target: "m",
      payload_type: "turn_request",
      version: "1.0",
      payload,
    };
    const played = spawnSync(process.execPath, [join(dist, "crew", "playbook.js")], {
      input: `${JSON.stringify(turn)}\n`,
      encoding: "utf8",
      env: { ...here.environment, BOSUN_PLAYBOOK: plan },
    });
    expect(played.stderr).toBe("");
    expect(JSON.parse(played.stdout)).toMatchObject({ payload_type: "plan", payload: { tasks: [{ task_id: "a" }] } });
  });
});
