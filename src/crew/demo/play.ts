import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { readFinding } from "../survey/finding.ts";
import { textOf } from "../turn.ts";
import { askBosun, type Bosun } from "./bosun.ts";
import { childrenOf, type Program, stillRunning } from "./programs.ts";
import { type DemoSession, nothingLostOrDoubled, type Numbered, REPORT_IT, ticketsDone } from "./session.ts";
import type { FoundItem, Tell } from "./story.ts";
import { tamperAndVerify } from "./tamper.ts";

/** Exit codes of `bosun run` and `bosun resume` (SPEC.md). */
const DONE = 0;
const PERSON_NEEDED = 4;

/**
 * How often and how long to look for a worker's program, in milliseconds. It starts some milliseconds after its turn is
 * on record.
 */
const LOOK_EVERY_MS = 5;
const LOOK_FOR_MS = 2_000;

/** What the play needs. */
export interface Stage {
  readonly bosun: Bosun;
  readonly session: DemoSession;
  readonly tell: Tell;
  /** The plan file. */
  readonly plan: string;
  /** Asks the person at the terminal and gives the line typed; undefined when nobody is asked. */
  readonly ask: ((prompt: string) => Promise<string>) | undefined;
}

/** What is there at the end. */
interface Played {
  readonly session_id: string;
  readonly report: string;
  readonly findings: string;
  readonly log: string;
}

/** What the killed scheduler left. */
interface Wreck {
  readonly records: readonly Numbered[];
  readonly programs: readonly Program[];
}

/**
 * The whole play, from the questions to the last proof. It stops at the first thing that is not as it should be:
 * `verification_failed` for a broken promise of Bosun's, `environment` for whatever keeps it from working.
 */
export async function play(stage: Stage): Promise<Result<Played, Failure>> {
  const wreck = await workUntilKilled(stage);
  if (!wreck.ok) return wreck;
  await pause(stage);
  const resumed = await resume(stage, wreck.value);
  if (!resumed.ok) return resumed;
  await pause(stage);
  const findings = await showFindings(stage);
  if (!findings.ok) return findings;
  await pause(stage);
  return prove(stage, findings.value);
}

async function pause({ ask }: Stage): Promise<void> {
  await ask?.("\n   Press Enter to go on. ");
}

async function workUntilKilled(stage: Stage): Promise<Result<Wreck, Failure>> {
  const { bosun, session, plan, tell, ask } = stage;
  const work = ["--crew", "embedded", "--isolation", "none", "--max-workers", "2", "--plan", plan];
  const place = ["--cwd", bosun.scratch.work, "--foreground", "--yes", "--unanswered", ask ? "stop" : "default"];
  let wreck = await carryOn(stage, ["run", ...work, ...place]);
  // The person may answer in a way that the manager asks about again.
  while (wreck === undefined && session.end.code === PERSON_NEEDED && session.questions.length > 0) {
    wreck = await carryOn(stage, ["resume", session.session_id, ...(await answers(stage))]);
  }
  if (wreck === undefined) {
    const { code, complaint } = session.end;
    const what = `The scheduler ended with exit code ${code} before the demo could kill it. ${complaint}`;
    return err(failure("environment", what.trim(), { hint: `Run the plan to see why: bosun run --plan ${plan}` }));
  }
  const left = wreck.programs.map(({ pid, command }) => ({ pid, name: nameOf(command) }));
  const { records } = wreck;
  tell({ type: "killed", pid: wreck.scheduler, records: records.length, done: ticketsDone(records), left });
  return ok(wreck);
}

/**
 * Runs the session and kills its scheduler when one ticket is done and a worker works on another; undefined if that
 * never happens.
 */
async function carryOn(
  { session, tell, ask }: Stage,
  words: readonly string[],
): Promise<(Wreck & { readonly scheduler: number }) | undefined> {
  let killed: { scheduler: number; programs: readonly Program[] } | undefined;
  for await (const { sequence, record } of session.run(words)) {
    tellRecord(tell, sequence, record, ask === undefined);
    if (killed !== undefined || !startsWork(record) || ticketsDone(session.records).length === 0) continue;
    const scheduler = session.pid;
    const programs = await programsWithWorker(scheduler);
    if (programs.length === 0) continue;
    session.kill();
    killed = { scheduler, programs };
  }
  return killed && { ...killed, records: [...session.records] };
}

function startsWork({ payload_type, payload }: UnsealedRecord): boolean {
  return payload_type === "turn_request" && objectOf(payload["message"])["payload_type"] === "instruction";
}

async function programsWithWorker(scheduler: number): Promise<readonly Program[]> {
  for (let waited = 0; waited < LOOK_FOR_MS; waited += LOOK_EVERY_MS) {
    const programs = childrenOf(scheduler);
    if (programs.some(({ command }) => nameOf(command) === "shell")) return programs;
    await delay(LOOK_EVERY_MS);
  }
  return [];
}

/** A program of the crew by its name and arguments, such as `survey verify links`, whatever sandbox it runs in. */
function nameOf(command: string): string {
  const [, name, words = ""] = /\/crew\/([a-z]+)\.[jt]s\b((?: [\w./-]+)*)/.exec(command) ?? [];
  return name === undefined ? command.slice(0, 60) : `${name}${words}`;
}

async function answers({ session, tell, ask }: Stage): Promise<string[]> {
  const { questions } = session;
  tell({ type: "questions", count: questions.length });
  const words: string[] = [];
  for (const question of questions) {
    const { text, why, options, default: usual } = question;
    const typed =
      (await ask?.(`\n   ${text}\n   ${why}\n   ${options.join(" | ")}\n   Answer [${usual}]: `))?.trim() ?? "";
    const answer = typed === "" ? usual : typed;
    tell({ type: "question", ...question, answer, by: "terminal" });
    words.push("--answer", `${question.question_id}=${answer}`);
  }
  return words;
}

/**
 * Tells a record, and before it the questions and the plan that it brings. Questions that a person is asked are told
 * with their answers.
 */
function tellRecord(tell: Tell, sequence: number, record: UnsealedRecord, questionsToo: boolean): void {
  const { payload_type, payload } = record;
  const applied = record.record.disposition === "applied";
  if (payload_type === "clarification" && applied && questionsToo) {
    const questions = listOf(payload["questions"]).map(objectOf);
    tell({ type: "questions", count: questions.length });
    for (const question of questions) tell(withDefault(question));
  }
  if (payload_type === "plan" && applied) tell({ type: "plan", tasks: listOf(payload["tasks"]).map(plannedTask) });
  tell({ type: "record", sequence, ...record });
}

function withDefault(question: JsonObject): Parameters<Tell>[0] {
  const [question_id = "", text = "", why = "", usual = ""] = ["question_id", "text", "why", "default"].map((key) =>
    textOf(question[key]),
  );
  const options = listOf(question["options"]).map(textOf);
  return { type: "question", question_id, text, why, options, default: usual, answer: usual, by: "default" };
}

function plannedTask(value: Json) {
  const { task_id, description, dependencies } = objectOf(value);
  return {
    task_id: textOf(task_id),
    description: textOf(description),
    dependencies: listOf(dependencies).map(textOf),
  };
}

async function resume({ session, tell }: Stage, { records, programs }: Wreck): Promise<Result<void, Failure>> {
  let survivors: readonly Program[] = [];
  for await (const { sequence, record } of session.run(["resume", session.session_id])) {
    if (record.payload_type === "session_recovered") {
      survivors = stillRunning(programs);
      const ended = programs.length - survivors.length;
      const repeated = listOf(record.payload["turns"]).length;
      tell({ type: "resumed", pid: session.pid, ended, repeated, records: sequence - 1 });
    }
    tellRecord(tell, sequence, record, true);
  }
  const { session_id, end } = session;
  if (survivors.length > 0) {
    const what = `${survivors.length} programs of the dead scheduler still ran when the next one started.`;
    return err(failure("verification_failed", what, { hint: REPORT_IT }));
  }
  if (end.code !== DONE) {
    const what = `The resumed session ${session_id} ended with exit code ${end.code}. ${end.complaint}`;
    return err(failure("environment", what.trim(), { hint: `See why: bosun log ${session_id}` }));
  }
  const whole = nothingLostOrDoubled(records, await session.log());
  if (!whole.ok) return whole;
  tell({ type: "closed", session_id, ...whole.value });
  return ok(undefined);
}

/** Tells what the crew found and gives the path of its report. */
async function showFindings({ bosun, session, tell }: Stage): Promise<Result<string, Failure>> {
  const { events } = await askBosun(bosun, ["status", session.session_id, "--json"]);
  const tickets = listOf(events[0]?.["tickets"]).map(objectOf);
  const artifacts = tickets
    .filter((ticket) => ticket["ticket_id"] === "digest")
    .flatMap((ticket) => listOf(ticket["artifacts"]).map(objectOf));
  const fileOf = (label: string) => artifacts.findLast((artifact) => artifact["label"] === label)?.["uri"];
  const [digest, report] = [fileOf("digest.json"), fileOf("report.md")];
  if (typeof digest !== "string" || typeof report !== "string") {
    return err(failure("not_found", "The crew kept no report of its findings."));
  }
  const { items, details } = await readFinding(fileURLToPath(digest));
  const found = items.map(({ claim, ...item }): FoundItem => ({ ...item, kind: textOf(claim["from"]) }));
  const kinds = listOf(details["kinds"]).map(objectOf);
  const clean = kinds.filter((kind) => kind["items"] === 0).map((kind) => textOf(kind["looked_at"]));
  tell({ type: "findings", count: found.length, items: found, clean });
  return ok(fileURLToPath(report));
}

async function prove({ bosun, session, tell }: Stage, findings: string): Promise<Result<Played, Failure>> {
  const { session_id, result } = session;
  const log = textOf(result["log"]);
  const { events, complaint } = await askBosun(bosun, ["replay", session_id, "--verify", "--json"]);
  const proof = events[0] ?? {};
  if (proof["ok"] !== true) {
    const problem = objectOf(listOf(proof["problems"])[0]);
    const what = textOf(problem["what"]) || complaint;
    return err(failure("verification_failed", `The log ${log} does not verify: ${what}`, { hint: REPORT_IT }));
  }
  tell({ type: "verified", records: Number(proof["records"]), decisions: textOf(proof["decisions"]) });
  const tampered = await tamperAndVerify(bosun, log);
  if (!tampered.ok) return tampered;
  tell({ type: "tampered", ...tampered.value });
  return ok({ session_id, report: textOf(result["report"]), findings, log });
}
