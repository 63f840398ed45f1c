import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { closeToOthers } from "../../lib/files.ts";
import { type JsonObject, listOf, textOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import type { Demo } from "./bosun.ts";
import { broken, unable } from "./failures.ts";
import { lostOrDoubled, prove, ticketsDone, timesSentBack } from "./proof.ts";
import { counted } from "./screen.ts";
import { RECEIPT, stateOf, TESTS } from "./scratch.ts";
import { showQuestions, showRecord } from "./shown.ts";

/** Exit codes of `bosun` (SPEC.md). */
const DONE = 0;
const PERSON_NEEDED = 4;

/** How long a worker works before its scheduler is killed. */
const KILL_AFTER_MS = 50;

/** The paths of what the session leaves in the home: the report, the report as a page for a browser, the log. */
export type Kept = Readonly<Record<"report" | "page" | "log", string>>;

/**
 * Tells the story: work until the scheduler is killed, resume, diff, merge, undo, proofs. It ends at the first failure: `verification_failed` for a
 * broken promise of Bosun's, `environment` for anything that keeps it from working.
 */
export async function tellStory(demo: Demo): Promise<Fallible<Kept>> {
  const { bosun, ask } = demo;
  const pause = () => ask?.("\n   Press Enter to go on. ");
  const before = await stateOf(bosun.setting.scratch);
  const crash = await workUntilKilled(demo);
  if (!crash.ok) return crash;
  await pause();
  const resumed = await resume(demo, crash.value);
  if (!resumed.ok) return resumed;
  const { report, log } = resumed.value;
  for (const step of [showDifference, mergeHere, undoHere]) {
    await pause();
    const done = await step(demo, before);
    if (!done.ok) return done;
  }
  await pause();
  const proved = await prove(demo, log);
  if (!proved.ok) return proved;
  const page = join(dirname(report), "report.html");
  const written = await bosun.run(["report", bosun.session_id, "--html", page]);
  // A page that a command is told to write has the modes of the person's own files, and this folder is Bosun's.
  closeToOthers([page]);
  if (written.code === DONE) return ok({ report, page, log });
  return unable("The page of the session was not written.", written, `bosun report ${bosun.session_id}`);
}

interface Agent {
  readonly pid: number;
  readonly name: string;
}

/** What the killed scheduler left. */
interface Crash {
  readonly records: readonly LogRecord[];
  readonly agents: readonly Agent[];
}

/** Runs the session and kills its scheduler once one ticket is done and a worker works on another. */
async function workUntilKilled(demo: Demo): Promise<Fallible<Crash>> {
  const { screen, bosun, plan, ask } = demo;
  const started: Agent[] = [];
  let running: readonly Agent[] = [];
  let pid: number | undefined;
  let done = 0;
  let printed = 0;
  const follow = async (event: JsonObject) => {
    if (event["type"] === "record") {
      const record = event as unknown as UnsealedRecord;
      await showRecord(demo, record);
      printed = Number(event["sequence"]);
      done += ticketsDone([record]).length;
    }
    if (event["type"] !== "turn_started") return;
    const role = textOf(event["role_id"]);
    started.push({ pid: Number(event["pid"]), name: `${role} on ${textOf(event["ticket_id"]) || "the session"}` });
    if (running.length > 0 || done === 0 || role !== "shell") return;
    await delay(KILL_AFTER_MS);
    running = started.filter(isRunning);
    if (running.length === 0) return;
    pid = bosun.command?.pid;
    bosun.command?.kill("SIGKILL");
  };
  const work = ["--crew=embedded", "--isolation=worktree", "--max-workers=2", `--plan=${plan}`];
  const place = [`--cwd=${bosun.setting.scratch.work}`, "--foreground", "--yes", "--no-input"];
  let end = await bosun.run(["run", ...work, ...place, `--unanswered=${ask ? "stop" : "default"}`], follow);
  // The manager may ask again after an answer that it does not understand.
  while (end.code === PERSON_NEEDED) {
    const questions = end.events.filter(({ type, kind }) => type === "waiting" && kind === "question");
    if (questions.length === 0) break;
    const answers = await showQuestions(demo, questions);
    end = await bosun.run(["resume", bosun.session_id, ...answers, "--no-input"], follow);
  }
  if (running.length === 0) {
    const what = `The scheduler ended with exit code ${end.code} before the demo could kill it.`;
    return unable(what, end, `bosun run --plan ${plan}`);
  }
  const records = await bosun.log();
  // The scheduler may have committed records that it could no longer print.
  for (const record of records.slice(printed)) await showRecord(demo, record);
  if (records.length < printed) return broken(`After the kill, record ${printed} is not in the log.`);
  screen.section(
    "killed",
    { pid, records: records.length, done: ticketsDone(records), agents: running },
    "We kill the scheduler with SIGKILL: it cannot save anything or clean up",
  );
  screen.row("killed", `pid ${pid}, after ${counted(records.length, "record")}`);
  screen.row("done", ticketsDone(records).join(", "));
  screen.row("at work", running.map((agent) => `${agent.name} (pid ${agent.pid})`).join(", "));
  return ok({ records, agents: running });
}

/** Whether a process is running. A zombie is not. */
function isRunning({ pid }: Agent): boolean {
  try {
    process.kill(pid, 0);
    return !existsSync("/proc/self/stat") || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

/** Resumes the session to its end and returns its records, and the paths of its final report and log. */
async function resume(demo: Demo, crash: Crash) {
  const { screen, bosun } = demo;
  const { session_id } = bosun;
  let survivors: readonly Agent[] = [];
  const end = await bosun.run(["resume", session_id, "--no-input"], async (event) => {
    if (event["type"] !== "record") return;
    const record = event as unknown as UnsealedRecord;
    if (record.payload_type === "session_recovered") {
      survivors = crash.agents.filter(isRunning);
      const pid = bosun.command?.pid;
      const ended = crash.agents.length - survivors.length;
      const repeated = listOf(record.payload["turns"]).length;
      const earlier = Number(event["sequence"]) - 1;
      screen.section("resumed", { pid, ended, repeated, records: earlier }, "Another process goes on with the session");
      screen.row("process", `pid ${pid}`);
      screen.row(
        "leftovers",
        `${counted(ended, "agent")} of the dead scheduler ended, ${survivors.length || "none"} left`,
      );
      screen.row("repeated", `${counted(repeated, "turn")} that had no answer yet`);
      screen.row("kept", `${counted(earlier, "record")}, all unchanged`);
      screen.blank();
    }
    await showRecord(demo, record);
  });
  if (survivors.length > 0) {
    return broken(`${counted(survivors.length, "agent")} of the dead scheduler still ran when the next one started.`);
  }
  if (end.code !== DONE) {
    const what = `The resumed session ${session_id} ended with exit code ${end.code}.`;
    return unable(what, end, `bosun log ${session_id}`);
  }
  const records = await bosun.log();
  const wrong = lostOrDoubled(crash.records, records);
  if (wrong !== undefined) return broken(`After the kill, ${wrong}.`);
  screen.blank();
  screen.kept(
    `Nothing was lost and nothing was done twice: ${counted(ticketsDone(records).length, "ticket")}, each done once.`,
  );
  if (timesSentBack(records) === 0) screen.say("No work was sent back this time: there was no conflict.");
  const result = end.events.at(-1) ?? {};
  return ok({ report: textOf(result["report"]), log: textOf(result["log"]) });
}

type State = Awaited<ReturnType<typeof stateOf>>;

/** Shows what the tickets changed. `before` is how the repository stood when the session began, as it still must. */
async function showDifference({ screen, bosun }: Demo, before: State): Promise<Fallible<void>> {
  const { session_id } = bosun;
  const stat = await bosun.print(["diff", session_id, "--stat"]);
  const whole = await bosun.print(["diff", session_id]);
  const failed = [stat, whole].find(({ code }) => code !== 0);
  if (failed) return unable("There is no diff.", failed, `bosun diff ${session_id}`);
  const lines = whole.lines.filter((line) => /^[-+].*RULES = /.test(line));
  screen.section("diff", { files: stat.lines, lines }, `What the tickets changed: bosun diff ${session_id}`);
  for (const line of stat.lines) screen.copyable("", line, 2);
  screen.blank();
  screen.say("Both tickets are on the line that they had a conflict about:");
  for (const line of lines) screen.say(line, 6);
  const now = await stateOf(bosun.setting.scratch);
  if (JSON.stringify(now) !== JSON.stringify(before)) return broken("The repository changed while the session ran.");
  screen.kept("Until now nothing in the repository has changed: the tickets worked in copies of it.");
  return ok(undefined);
}

/** Merges the tickets into the repository, and runs its tests there. */
async function mergeHere({ screen, bosun }: Demo): Promise<Fallible<void>> {
  const { session_id } = bosun;
  const merged = await bosun.print(["merge", session_id, "--no-input"]);
  if (merged.code !== 0) return unable("The work was not merged.", merged, `bosun merge ${session_id}`);
  const tests = await bosun.script(TESTS);
  const receipt = await bosun.script(RECEIPT);
  const { commit, changes } = await stateOf(bosun.setting.scratch);
  const facts = { commit, tests: tests.lines, receipt: receipt.lines };
  screen.section("merged", facts, `All of it into the branch, as one merge: bosun merge ${session_id}`);
  screen.row("commit", commit.slice(0, 12));
  screen.row("tests", tests.lines.join(", "));
  screen.row("receipt", receipt.lines.join(" "));
  if (tests.code !== 0 || receipt.code !== 0) return broken(`The tests fail on what was merged. ${tests.complaint}`);
  if (changes !== "") return broken(`The folder differs from the commit: ${changes}`);
  screen.kept("The tests pass in the repository, and its folder holds exactly that commit.");
  return ok(undefined);
}

/** Takes the merge back. `before` is how the repository stood before it. */
async function undoHere({ screen, bosun }: Demo, before: State): Promise<Fallible<void>> {
  const { session_id } = bosun;
  const undone = await bosun.print(["undo", session_id]);
  if (undone.code !== 0) return unable("The merge was not taken back.", undone, `bosun undo ${session_id}`);
  const { commit, tree, changes } = await stateOf(bosun.setting.scratch);
  screen.section("undone", { commit }, `And back: bosun undo ${session_id}`);
  screen.row("commit", commit.slice(0, 12));
  if (tree !== before.tree || changes !== "")
    return broken(`The files are not as they were before the merge. ${changes}`);
  screen.kept("Every file is as it was. What happened stays in the history.");
  return ok(undefined);
}
