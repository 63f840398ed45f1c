import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { listOf, objectOf, textWithin } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import { counted } from "../survey/finding.ts";
import { showFindings } from "./findings.ts";
import { writePage } from "./page.ts";
import { broken, lostOrDoubled, prove } from "./proof.ts";
import type { Screen } from "./screen.ts";
import { type Demo, type Question, questionOf, ticketsDone, timesSentBack } from "./session.ts";
import { workLines } from "./work-lines.ts";

/** Exit codes of `bosun run` and `bosun resume` (SPEC.md). */
const DONE = 0;
const PERSON_NEEDED = 4;

/** How long a worker works before its scheduler is killed. */
const KILL_AFTER_MS = 50;

/** The paths of what the session leaves in the home. */
export interface Kept {
  readonly findings: string;
  readonly report: string;
  /** The report as a page for a browser. */
  readonly page: string;
  readonly log: string;
}

/**
 * Tells the story: work until the scheduler is killed, resume, findings, proofs. It ends at the first failure: `verification_failed` for a broken
 * promise of Bosun's, `environment` for anything that keeps it from working.
 */
export async function tellStory(demo: Demo): Promise<Result<Kept, Failure>> {
  const crash = await workUntilKilled(demo);
  if (!crash.ok) return crash;
  await pause(demo);
  const files = await resume(demo, crash.value);
  if (!files.ok) return files;
  await pause(demo);
  const findings = await showFindings(demo);
  if (!findings.ok) return findings;
  await pause(demo);
  const proved = await prove(demo, files.value.log);
  if (!proved.ok) return proved;
  const page = await writePage(demo, files.value.report);
  return page.ok ? ok({ findings: findings.value, page: page.value, ...files.value }) : page;
}

async function pause({ ask }: Demo): Promise<void> {
  await ask?.("\n   Press Enter to go on. ");
}

/** A running agent. */
interface Agent {
  readonly pid: number;
  readonly name: string;
}

/** What the killed scheduler left. */
interface Crash {
  readonly pid: number;
  /** Number of records that it printed. */
  readonly printed: number;
  readonly records: readonly LogRecord[];
  readonly agents: readonly Agent[];
}

async function workUntilKilled(demo: Demo): Promise<Result<Crash, Failure>> {
  const { screen, bosun, session, plan, ask } = demo;
  const work = ["--crew", "embedded", "--isolation", "none", "--max-workers", "2", "--plan", plan];
  const place = ["--cwd", bosun.scratch.work, "--foreground", "--yes", "--unanswered", ask ? "stop" : "default"];
  let { crash, end } = await runUntilKilled(demo, ["run", ...work, ...place]);
  // The manager may ask again after an answer that it does not understand.
  while (crash === undefined && end.code === PERSON_NEEDED && end.questions.length > 0) {
    const answers = await answersFromTerminal(demo, end.questions);
    ({ crash, end } = await runUntilKilled(demo, ["resume", session.session_id, ...answers]));
  }
  if (crash === undefined) {
    const what = `The scheduler ended with exit code ${end.code} before the demo could kill it. ${end.complaint}`;
    return err(failure("environment", what.trim(), { hint: `Run the plan to see why: bosun run --plan ${plan}` }));
  }
  const { pid, printed, records, agents } = crash;
  if (records.length < printed) return broken(`After the kill, record ${printed} is not in the log.`);
  const done = ticketsDone(records);
  screen.section(
    "killed",
    { pid, records: records.length, done, agents },
    "We kill the scheduler with SIGKILL: it cannot save anything or clean up",
  );
  screen.rows([
    ["killed", `pid ${pid}, after ${counted(records.length, "record")}`],
    ["done so far", done.join(", ")],
    ["at work", agents.map((agent) => `${agent.name} (pid ${agent.pid})`).join(", ")],
  ]);
  return ok(crash);
}

/** Runs the session and kills its scheduler once one ticket is done and a worker works on another. */
async function runUntilKilled(demo: Demo, words: readonly string[]) {
  const { session } = demo;
  const agents = new Map<string, Agent>();
  let killed: Omit<Crash, "records" | "printed"> | undefined;
  let done = 0;
  let printed = 0;
  const end = await session.run(words, async (event) => {
    const turn = textWithin(event["turn_id"]);
    if (event["type"] === "turn_ended") agents.delete(turn);
    if (event["type"] === "record") {
      const record = event as unknown as UnsealedRecord;
      showRecord(demo, record);
      printed = Number(event["sequence"]);
      done += ticketsDone([record]).length;
    }
    if (event["type"] !== "turn_started") return;
    const role = textWithin(event["role_id"]);
    agents.set(turn, {
      pid: Number(event["pid"]),
      name: `${role} on ${textWithin(event["ticket_id"]) || "the session"}`,
    });
    if (killed !== undefined || done === 0 || role !== "shell") return;
    await delay(KILL_AFTER_MS);
    const running = [...agents.values()].filter(isRunning);
    if (running.length === 0) return;
    killed = { pid: session.pid, agents: running };
    session.kill();
  });
  if (killed === undefined) return { crash: undefined, end };
  const records = await session.log();
  // The scheduler may have committed records that it could no longer print.
  for (const record of records.slice(printed)) showRecord(demo, record);
  return { crash: { ...killed, printed, records }, end };
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

/** Shows the questions, the plan or the progress of work in a record. */
function showRecord({ screen, ask }: Demo, record: UnsealedRecord): void {
  const { payload_type, payload } = record;
  const applied = record.record.disposition === "applied";
  // At the terminal, questions are shown when they are asked.
  if (payload_type === "clarification" && applied && ask === undefined) {
    const questions = listOf(payload["questions"]).map((question) => questionOf(objectOf(question)));
    questionsSection(screen, questions);
    for (const { text, why, options, default: answer } of questions) {
      screen.blank();
      screen.say(text, 3, "bold");
      screen.rows([
        ["why", why],
        ["options", options.join(" | ")],
        ["answer", `${answer}  (the default)`],
      ]);
    }
  }
  if (payload_type === "plan" && applied) {
    const tasks = listOf(payload["tasks"]).map(objectOf);
    screen.section("plan", { tasks }, `The plan: ${counted(tasks.length, "task")}`);
    screen.rows(
      tasks.map((task) => {
        const before = listOf(task["dependencies"]).map(textWithin);
        const after = before.length === tasks.length - 1 ? "all others" : before.join(", ");
        const description = textWithin(task["description"]);
        return [textWithin(task["task_id"]), before.length === 0 ? description : `${description} After ${after}.`];
      }),
    );
    screen.section("work", {}, "The work, at most two workers at a time; a command checks every result");
  }
  for (const { ticket, text, style, evidence } of workLines(record)) screen.work(ticket, text, style, evidence);
}

function questionsSection(screen: Screen, questions: readonly Question[]): void {
  const title = `The manager asks ${counted(questions.length, "question")} before it plans`;
  screen.section("questions", { questions }, title);
}

/** Asks the questions and returns the options for `resume`. */
async function answersFromTerminal({ screen, ask }: Demo, questions: readonly Question[]): Promise<string[]> {
  questionsSection(screen, questions);
  const words: string[] = [];
  for (const { question_id, text, why, options, default: usual } of questions) {
    screen.blank();
    for (const line of [text, why, options.join(" | ")]) screen.say(line);
    const typed = await ask?.(`   Answer [${usual}]: `);
    const answer = typed?.trim() || usual;
    screen.rows([["answer", answer]]);
    words.push("--answer", `${question_id}=${answer}`);
  }
  return words;
}

/** Resumes the session to its end and returns the paths of its final report and log. */
async function resume(demo: Demo, crash: Crash): Promise<Result<Pick<Kept, "report" | "log">, Failure>> {
  const { screen, session } = demo;
  let survivors: readonly Agent[] = [];
  const end = await session.run(["resume", session.session_id], (event) => {
    if (event["type"] !== "record") return;
    const record = event as unknown as UnsealedRecord;
    if (record.payload_type === "session_recovered") {
      survivors = crash.agents.filter(isRunning);
      const ended = crash.agents.length - survivors.length;
      const repeated = listOf(record.payload["turns"]).length;
      const records = Number(event["sequence"]) - 1;
      const facts = { pid: session.pid, ended, repeated, records };
      screen.section("resumed", facts, "Another process goes on with the session");
      screen.rows([
        ["process", `pid ${session.pid}`],
        ["leftovers", `${counted(ended, "agent")} of the dead scheduler ended, ${survivors.length || "none"} left`],
        ["repeated", `${counted(repeated, "turn")} that had no answer yet`],
        ["kept", `${counted(records, "record")}, all unchanged`],
      ]);
      screen.blank();
    }
    showRecord(demo, record);
  });
  if (survivors.length > 0) {
    return broken(`${counted(survivors.length, "agent")} of the dead scheduler still ran when the next one started.`);
  }
  if (end.code !== DONE) {
    const what = `The resumed session ${session.session_id} ended with exit code ${end.code}. ${end.complaint}`;
    return err(failure("environment", what.trim(), { hint: `See why: bosun log ${session.session_id}` }));
  }
  const log = await session.log();
  const wrong = lostOrDoubled(crash.records, log);
  if (wrong !== undefined) return broken(`After the kill, ${wrong}.`);
  const tickets = ticketsDone(log).length;
  screen.blank();
  screen.kept(`Nothing was lost and nothing was done twice: ${counted(tickets, "ticket")}, each done once.`);
  if (timesSentBack(log) === 0) screen.say("No work was sent back this time: every check passed at once.");
  return ok({ report: textWithin(end.result["report"]), log: textWithin(end.result["log"]) });
}
