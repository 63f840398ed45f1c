import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { foreignCrew, rig, type Rig, tinyPlan } from "./rig.ts";
import { open } from "./terminal.ts";

const PLANTED = [
  "claude",
  "codex",
  "opencode",
  "gemini",
  "bosun",
  "git",
  "npm",
  "npx",
  "less",
  "more",
  "head",
  "cat",
  "page",
  "sh",
  "bash",
  "vi",
  "true",
  "env",
  "ps",
  "bwrap",
  "unshare",
  "setpriv",
  "node",
  "python3",
];

/** A work tree whose every file, setting and program is a trap: it writes the file `sprung` when it runs. */
function hostileClone(here: Rig): string {
  const { workspace } = here;
  const sprung = join(here.home, "../sprung");
  const trap = `#!/bin/sh\necho "$0 $*" >>${sprung}\nexit 1\n`;
  const program = (name: string) => {
    const file = here.write(`workspace/${name}`, trap);
    execFileSync("/bin/chmod", ["755", file]);
    return file;
  };
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...words], {
      cwd: workspace,
      stdio: "pipe",
    });
  git("init", "-q");
  here.write("workspace/a.txt", "a\n");
  git("add", "a.txt");
  git("commit", "-qm", "one");
  for (const name of PLANTED) for (const folder of ["", "bin/", "node_modules/.bin/"]) program(folder + name);
  const evil = program("evil");
  for (const hook of ["post-index-change", "post-checkout", "pre-commit", "reference-transaction"])
    program(`.git/hooks/${hook}`);
  here.write("workspace/.git/info/attributes", "* filter=x diff=x merge=x\n");
  here.write("workspace/.gitattributes", "* filter=x diff=x\n");
  here.write(
    "workspace/.git/config",
    `${readFileSync(join(workspace, ".git/config"), "utf8")}
[core]
  fsmonitor = ${evil}
  pager = ${evil}
  editor = ${evil}
  sshCommand = ${evil}
  askPass = ${evil}
  alternateRefsCommand = ${evil}
[filter "x"]
  clean = ${evil}
  smudge = ${evil}
  process = ${evil}
  required = true
[diff]
  external = ${evil}
[diff "x"]
  command = ${evil}
  textconv = ${evil}
[merge "x"]
  driver = ${evil}
[credential]
  helper = ${evil}
[alias]
  status = !${evil}
  config = !${evil}
[gpg]
  program = ${evil}
[protocol "ext"]
  allow = always
[remote "origin"]
  url = ext::${evil}
  promisor = true
[extensions]
  partialClone = origin
[include]
  path = ../more.config
`,
  );
  here.write("workspace/more.config", `[filter "y"]\n  clean = ${evil}\n`);
  const role = (type: string) => ({ role_id: type, type, cli_command: [evil], env: { PATH: workspace } });
  here.write("workspace/.bosun/roles.json", JSON.stringify({ roles: [role("manager"), role("worker")] }));
  const settings = { notify: { command: [evil] }, checks: { ticket: [{ text: "ok", command: [evil] }] } };
  here.write("workspace/.bosun/scheduler_config.json", JSON.stringify(settings));
  here.write("workspace/bosun.db", "not yours");
  here.write("workspace/.npmrc", `script-shell=${evil}\nnode-options=--require=${evil}\n`);
  here.write("workspace/.env", `NODE_OPTIONS=--require=${evil}\n`);
  here.write("workspace/.tool-versions", "claude path:.\n");
  mkdirSync(join(workspace, "linked"));
  symlinkSync(evil, join(workspace, "linked/roles.yaml"));
  utimesSync(join(workspace, "a.txt"), 2e9, 2e9);
  return sprung;
}

/** Commands that need no session, and with `s` one that waits for a person. */
const COMMANDS = (s: string, plan: string): readonly string[][] => [
  ["status", s],
  ["status", "--all"],
  ["inbox"],
  ["log", s],
  ["replay", s, "--verify"],
  ["report", s],
  ["doctor"],
  ["doctor", "--crew", "claude"],
  ["doctor", "--crew", "codex-claude"],
  ["roles"],
  ["roles", "--prompts"],
  ["config"],
  ["plan", s],
  ["plan", s, "--export", "exported.yaml"],
  ["plan", s, "--edit"],
  ["answer", s],
  ["tell", s, "go on"],
  ["trust"],
  ["init"],
  ["run", "Do it"],
  ["run", "Do it", "--crew", "claude"],
  ["run", "--plan", plan, "--crew", "embedded", "--config", plan],
  ["run", "Do it", ...foreignCrew(), "--roles", "../roles.json", "--config", "../agreed.json", "--no-input"],
  ["debate", "What?", "--crew", "claude"],
  ["conformance", "--role", "worker", "--", "claude"],
  ["completion", "bash"],
  ["complete", "--", "run", ""],
  ["pause", s],
  ["resume", s, "--no-input"],
  ["retry", s],
  ["wait", s, "--timeout", "1s"],
  ["cancel", s],
  ["rebuild", s],
];

describe("a clone full of traps", () => {
  it("starts nothing of its own under any command, whatever relative folders the PATH has", async () => {
    const here = rig();
    const sprung = hostileClone(here);
    const plan = here.write("plan.json", tinyPlan([{ task_id: "a", shell: "exit 0" }]));
    const settings = here.write("settings.json", JSON.stringify({ plan_approval: "ask" }));
    const roles = here.write("roles.json", JSON.stringify({ roles: [] }));
    const env = {
      ...here.environment,
      BOSUN_HOME: here.home,
      EDITOR: "true",
      PATH: `:.:bin:node_modules/.bin:${here.environment["PATH"]}:`,
    };
    const type = (words: readonly string[]) =>
      promisify(execFile)(process.execPath, [built("cli.js"), ...words], {
        cwd: here.workspace,
        env,
        timeout: 60_000,
      }).then(
        () => "done",
        ({ code }: { code: number | null }) => `exit ${code}`,
      );
    here.write("agreed.json", JSON.stringify({ plan_approval: "never" }));
    // Files that the person names are theirs: with them a session waits at its gate.
    await type(["run", "--plan", plan, "--crew", "embedded", "--roles", roles, "--config", settings, "--no-input"]);
    const [session = ""] = here.sessions();
    expect(session).not.toBe("");
    const springers: string[] = [];
    for (const words of COMMANDS(session, plan)) {
      await type(words);
      if (existsSync(sprung)) springers.push(`${words.join(" ")}: ${readFileSync(sprung, "utf8")}`);
    }
    expect(springers).toEqual([]);
    // With a home that only the clone names.
    for (const words of [["status"], ["run", "x"]]) await type(["--home", here.workspace, ...words]);
    expect(existsSync(sprung)).toBe(false);
  });

  it("does not start its shell or its programs for the pager of a person", async () => {
    const here = rig();
    const sprung = hostileClone(here);
    const ours = here.write("ours/page", `#!/bin/sh\nexec /usr/bin/touch ${join(here.home, "paged")}\n`);
    execFileSync("/bin/chmod", ["755", ours]);
    const steps = Array.from({ length: 60 }, (_, index) => ({ task_id: `t${index}`, shell: "true" }));
    const files = ["--roles", here.write("r.json", '{"roles": []}'), "--config", here.write("c.json", "{}")];
    const run = ["run", "--plan", here.write("plan.json", tinyPlan(steps)), "--crew", "embedded", ...files];
    await here.run([...run, "--no-input"]);
    const pane = open(here, ["log"], { PATH: `:.:${dirname(ours)}:${here.environment["PATH"]}`, PAGER: "page" });
    await pane.exit();
    expect(existsSync(join(here.home, "paged"))).toBe(true);
    expect(existsSync(sprung)).toBe(false);
  });
});
