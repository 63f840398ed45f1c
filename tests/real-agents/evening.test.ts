import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { openTerminal, type Pane } from "../commands/terminal.ts";
import { crew, manager, worker } from "../model-servers/brains.ts";
import { outputUnless, type Place, placeWith } from "./place.ts";

/** The worker runs the command of the check itself, for which nobody needs to be asked. */
const CHECK = ["node", "greet.mjs"];

const brains = crew(
  manager({
    tasks: [
      {
        task_id: "greet",
        description: "Write greet.mjs, which greets, and try it.",
        acceptance_criteria: [{ text: "it greets", command: CHECK }],
      },
    ],
  }),
  worker(() => [{ write: "greet.mjs", content: 'console.log("Hello.");\n' }, { run: CHECK.join(" ") }]),
);

const gitIn = (here: Place, ...words: string[]) =>
  execFileSync("git", words, { cwd: here.workspace, env: here.environment, encoding: "utf8" });

/** A place whose workspace is a git repository without a file and without a commit. */
async function emptyRepository(): Promise<Place> {
  const here = await placeWith(brains);
  for (const name of [".git", "README.md"]) rmSync(join(here.workspace, name), { recursive: true });
  gitIn(here, "init", "--quiet", "--initial-branch=main");
  gitIn(here, "config", "user.name", "Ada");
  gitIn(here, "config", "user.email", "ada@example.org");
  return here;
}

/** Types a command line in a terminal. */
function typed(here: Place, args: readonly string[], env: Record<string, string>): Pane {
  const command = [process.execPath, built("bin.js"), ...args];
  return openTerminal(here.workspace, command, { environment: here.environment, env, rows: 60 });
}

/** Takes the first choice of a question, once it is asked. */
async function takesFirst(pane: Pane, question: string): Promise<void> {
  await pane.asks(question);
  pane.type("1", "Enter");
}

/** How many questions were answered on a screen, with what has scrolled away. */
const answersOn = (pane: Pane) => pane.screen().match(/^> ?\S/gm)?.length ?? 0;

describe("the first evening in an empty repository", () => {
  it.each([
    ["at the dashboard", {}],
    ["in plain lines", { BOSUN_REPORTER: "plain" }],
  ] as const)("asks three questions until the first ticket is done, %s", async (_how, env) => {
    const here = await emptyRepository();
    const init = typed(here, ["init"], env);
    await takesFirst(init, "and trust them?");
    expect(await init.exit()).toBe(0);

    const run = typed(here, ["run", "Write a greeting."], env);
    await takesFirst(run, "Approve this plan?");
    await takesFirst(run, "All tasks are finished. Accept the result?");
    expect(await run.exit()).toBe(0);
    expect(answersOn(init) + answersOn(run)).toBe(3);
    await run.shows("is done: 1 of 1 ticket done");

    expect(outputUnless(0, await here.bosun("merge"))).toBe("");
    expect(here.read("greet.mjs")).toContain("Hello.");
    expect(gitIn(here, "ls-files", "--others", "--cached").trimEnd().split("\n").toSorted()).toEqual([
      ".bosun/roles.yaml",
      ".bosun/scheduler_config.yaml",
      "greet.mjs",
    ]);
    expect(here.read(".bosun/roles.yaml")).toMatch(/manager_codex[^]*worker_claude/);
    const { outcome, tickets, pending_questions } = await here.status();
    expect({ outcome, pending_questions }).toEqual({ outcome: "done", pending_questions: [] });
    expect(tickets.map(({ ticket_id, status, attempts }) => [ticket_id, status, attempts])).toEqual([
      ["greet", "done", 1],
    ]);
    const asked = (await here.records()).filter(({ payload_type }) => payload_type === "approval_request");
    expect(asked.map(({ payload }) => payload["subject"])).toEqual(["plan", "permission", "result"]);
  });
});
