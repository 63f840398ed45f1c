import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { JsonObject } from "../../src/lib/json.ts";
import { PROGRAM } from "./measure.ts";

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
}

/** A person's repository in a folder, with a home beside it, and the built program there. */
interface BenchPlace {
  readonly run: (program: string, words: readonly string[]) => Ended;
  readonly bosun: (...words: readonly string[]) => Ended;
  /** Runs these tasks with the embedded crew as the session `s-1`. */
  readonly session: (tasks: readonly JsonObject[], settings: JsonObject) => Ended;
}

export function placeIn(folder: string, files: Readonly<Record<string, string | null>>): BenchPlace {
  const workspace = join(folder, "workspace");
  const env = {
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: folder,
    BOSUN_HOME: join(folder, "home"),
    GIT_CONFIG_NOSYSTEM: "1",
    LANG: "C.UTF-8",
  };
  lay(workspace, files);
  const git = (...words: string[]) => execFileSync("git", words, { cwd: workspace, env });
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "Ada");
  git("config", "user.email", "ada@example.org");
  git("add", ".");
  git("commit", "--quiet", "--message", "base");
  const run = (program: string, words: readonly string[]) =>
    spawnSync(program, words, { cwd: workspace, env, encoding: "utf8", maxBuffer: 1 << 28 });
  const bosun = (...words: string[]) => run(process.execPath, [PROGRAM, ...words]);
  return {
    run,
    bosun,
    session(tasks, settings) {
      const metadata = { playbook: { instruction: "with_plan" } };
      const [plan, config] = [join(folder, "plan.json"), join(folder, "settings.json")];
      writeFileSync(plan, JSON.stringify({ requirement: "Do it.", summary: "Some tasks.", tasks, metadata }));
      writeFileSync(config, JSON.stringify(settings));
      return bosun("run", "--plan", plan, "--config", config, "--no-input", "--session", "s-1");
    },
  };
}

/** A task whose worker runs a shell command, and which a command checks. */
export function shellTask(task_id: string, shell: string, command: readonly string[]): JsonObject {
  return {
    task_id,
    description: `Do ${task_id}.`,
    instruction: { summary: "Do it", steps: [{ text: "Do it", shell }] },
    acceptance_criteria: [{ text: "it is done", command: [...command] }],
    review: "checks",
  };
}

/** Writes the files that are there. */
export function lay(folder: string, files: Readonly<Record<string, string | null>>): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(files)) if (text !== null) writeFileSync(join(folder, name), text);
}
