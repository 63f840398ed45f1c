import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { jsonLines, type Rig, rig, ROOT, tinyPlan } from "./rig.ts";
import { open } from "./terminal.ts";

/** Two tickets, one after the other, that write the same file. */
const PLAN = tinyPlan([
  { task_id: "first", shell: "echo 1 > shared.txt; echo 1 > own.txt" },
  { task_id: "second", shell: "echo 2 >> shared.txt", dependencies: ["first"] },
]);

const CHANGED = {
  first: {
    files: [
      { path: "own.txt", change: "added" },
      { path: "shared.txt", change: "added", also: ["second"] },
    ],
    count: 2,
  },
  second: { files: [{ path: "shared.txt", change: "modified", also: ["first"] }], count: 1 },
};

interface Changed {
  readonly tickets: readonly { readonly ticket_id: "first" | "second"; readonly changed_files?: unknown }[];
}

const changedIn = ({ tickets }: Changed) =>
  Object.fromEntries(tickets.map(({ ticket_id, changed_files }) => [ticket_id, changed_files]));

function inGit({ workspace }: Rig): void {
  execFileSync("git", ["init", "--quiet"], { cwd: workspace });
}

/** An agent with these answers, by message. */
function agent(here: Rig, name: string, answers: object): string {
  return `${process.execPath} ${join(ROOT, "tests/fixtures/agents/given.mjs")} ${here.write(name, JSON.stringify(answers))}`;
}

describe.each([
  ["in a repository", inGit],
  ["without git", () => {}],
])("%s, the files that each ticket changed", (_, prepare) => {
  it("stand at the end, in the status and in every form of the report, with who else changed them", async () => {
    const here = rig();
    prepare(here);
    const ran = await typed(here, ["run", "--plan", here.write("plan.json", PLAN)]);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(
      /^What was done\n {2}first: .*\n {4}added own\.txt\n {4}added shared\.txt \(second, too\)\n {2}second: .*\n {4}modified shared\.txt \(first, too\)\n\n/m,
    );
    expect(ran.stdout.indexOf("What was done")).toBeLessThan(ran.stdout.indexOf("--verify"));
    const session_id = await onlySession(here);
    expect(changedIn(await typedJson<Changed>(here, ["status", session_id, "--json"]))).toEqual(CHANGED);
    expect(changedIn(await typedJson<Changed>(here, ["report", session_id, "--json"]))).toEqual(CHANGED);
    const page = join(here.home, "page.html");
    expect((await typed(here, ["report", session_id, "--html", page])).code).toBe(0);
    const text = await typed(here, ["report", session_id]);
    const markdown = await typed(here, ["report", session_id, "--md"]);
    for (const form of [text.stdout, markdown.stdout, readFileSync(page, "utf8")])
      expect(form).toMatch(/modified shared\\?\.txt \(first, too\)/);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });
});

it("a manager's review has the changed files in its recorded request, which is proved", async () => {
  const here = rig();
  const manager = agent(here, "manager.json", { review_request: ["review", { decision: "approved" }] });
  const plan = tinyPlan([{ task_id: "write", shell: "echo 1 > new.txt", more: { review: "manager" } }]);
  const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--manager", manager]);
  expect([ran.code, ran.stderr]).toEqual([0, ""]);
  const session_id = await onlySession(here);
  const { stdout } = await typed(here, ["replay", session_id, "--json"]);
  const requests = jsonLines<{ payload: { message?: { payload_type: string; payload: object } } }>(stdout);
  const review = requests.find(({ payload }) => payload.message?.payload_type === "review_request");
  expect(review?.payload.message?.payload).toMatchObject({ diff_stat: "added new.txt" });
  expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
});

it("a person sees them before the work, and then the result, is accepted", async () => {
  const here = rig();
  inGit(here);
  const plan = tinyPlan([{ task_id: "write", shell: "echo 1 > new.txt", more: { review: "user" } }]);
  const pane = open(here, ["run", "--plan", here.write("plan.json", plan), "--confirm"]);
  await pane.asks("Review of write");
  expect(pane.screen()).toContain("file: added new.txt");
  pane.type("1", "Enter");
  await pane.asks("Accept the result?");
  expect(pane.screen()).toMatch(/What was done\n {2}write: .*\n {4}added new\.txt\n/);
  pane.type("1", "Enter");
  expect(await pane.exit()).toBe(0);
});
