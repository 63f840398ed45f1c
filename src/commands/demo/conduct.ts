import { join } from "node:path";
import { shellWord } from "../../lib/shell-word.ts";
import { shipped } from "../../config/installation.ts";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Question as AskedQuestion } from "../../protocol/payload.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { EXIT_DONE, EXIT_PERSON_NEEDED } from "../../runtime/exit.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { verifySession } from "../../runtime/proof.ts";
import { wordsOf } from "../../ui/words.ts";
import { loadModes } from "../lookup/modes.ts";
import { askPerson } from "./ask.ts";
import { endedSince, lookAtWreck, nothingLostOrDoubled, REPORT_IT, type Wreck } from "./crash.ts";
import type { CrewSession, Ran } from "./crew-session.ts";
import type { AnsweredQuestion } from "./events.ts";
import { readFindings } from "./findings.ts";
import { type KillPoint, watchForKillPoint } from "./kill-point.ts";
import { copyLog } from "./scratch.ts";
import type { Stage } from "./stage.ts";
import { tamperAndVerify } from "./tamper.ts";

/** What is there when everything went as it should. */
interface Conducted {
  readonly session_id: string;
  readonly report: string;
  readonly findings: string;
  readonly log: string;
}

/**
 * The whole play, from the first question to the last proof. Fails at the first thing that is not as it should be:
 * `verification_failed` for what Bosun promises and did not keep, `environment` for what kept it from working, `interrupted`.
 */
export async function conduct(stage: Stage, session: CrewSession): Promise<Result<Conducted, Failure>> {
  const wreck = await workUntilKilled(stage, session);
  if (!wreck.ok) return wreck;
  const finished = await goOn(stage, session, wreck.value);
  if (!finished.ok) return finished;
  return prove(stage, session);
}

async function workUntilKilled(stage: Stage, session: CrewSession): Promise<Result<Wreck, Failure>> {
  let killed: number | undefined;
  let point: KillPoint | undefined;
  const hear = (sequence: number, record: UnsealedRecord) => {
    tell(stage, sequence, record);
    point ??= watchForKillPoint(session.reader, () => {
      killed = session.pid;
      session.kill();
    });
    point.record(record);
  };
  try {
    let ran = await session.begin(hear);
    while (ran.ok && ran.value.end.code === EXIT_PERSON_NEEDED) {
      const answers = await askAll(stage, ran.value);
      if (answers.length === 0 && !stage.interrupted.aborted) break;
      ran = await session.resume(answers, hear);
    }
    if (!ran.ok) return ran;
    if (killed === undefined) return err(endedTooEarly(ran.value));
  } finally {
    point?.over();
  }
  const wreck = await lookAtWreck(session.reader, session.session_id, killed);
  session.catchUp((sequence, record) => tell(stage, sequence, record));
  stage.show({ type: "killed", ...wreck.told });
  return ok(wreck);
}

async function goOn(stage: Stage, session: CrewSession, wreck: Wreck): Promise<Result<void, Failure>> {
  let survivors = 0;
  const ran = await session.resume([], (sequence, record) => {
    if (record.payload_type === "session_recovered") {
      const ended = endedSince(wreck);
      survivors = wreck.processes.length - ended;
      const repeated = Array.isArray(record.payload.turns) ? record.payload.turns.length : 0;
      stage.show({ type: "resumed", pid: session.pid, ended, repeated, records: sequence - 1 });
    }
    tell(stage, sequence, record);
  });
  if (!ran.ok) return ran;
  const { session_id } = session;
  if (survivors > 0) {
    const what = `${survivors} programs of the dead scheduler still ran when the next one began.`;
    return err(failure("verification_failed", what, { hint: REPORT_IT }));
  }
  const { code, said } = ran.value.end;
  if (code !== EXIT_DONE) {
    const what = `The session ${session_id} went on after the kill, but came to no good end (exit code ${code}). ${said}`;
    return err(failure("environment", what.trim(), { hint: `See why: bosun log ${session_id}` }));
  }
  const whole = nothingLostOrDoubled(session.reader, session_id, wreck);
  if (!whole.ok) return whole;
  stage.show({ type: "closed", session_id, ...whole.value });
  return ok(undefined);
}

async function prove(stage: Stage, session: CrewSession): Promise<Result<Conducted, Failure>> {
  const { session_id, reader } = session;
  const { log, folder } = sessionPaths(stage.home, session_id);
  const found = readFindings(reader, stage.home, session_id);
  if (!found.ok) return found;
  const { items, report: findings } = found.value;
  stage.show({ type: "findings", count: items.length, items });
  const row = reader.session(session_id);
  if (!row.ok) return row;
  const proof = verifySession(log, await loadModes(), { sequence: row.value.last_sequence, hash: row.value.head });
  if (!proof.ok) return proof;
  const { ok: good, records, decisions, problems } = proof.value;
  if (!good) {
    const [problem] = problems;
    const what = `record ${problem?.sequence ?? "?"}: ${problem?.what ?? "it is not whole"}`;
    return err(failure("verification_failed", `The log ${log} does not verify: ${what}`, { hint: REPORT_IT }));
  }
  stage.show({ type: "verified", records, decisions });
  const tampered = await tamperAndVerify(copyLog(log, stage.scratch));
  if (!tampered.ok) return tampered;
  stage.show({ type: "tampered", ...tampered.value });
  return ok({ session_id, report: join(folder, "final_report.md"), findings, log });
}

/** Shows a record; the questions and the plan are told in full, since everything else rests on them. */
function tell({ show, ask }: Stage, sequence: number, record: UnsealedRecord): void {
  const { payload_type, payload, record: about } = record;
  if (payload_type === "clarification" && about.disposition === "applied" && !ask) {
    const questions = payload.questions as unknown as AskedQuestion[];
    show({ type: "questions", count: questions.length });
    for (const question of questions) show({ type: "question", ...withDefault(question) });
  }
  if (payload_type === "plan" && about.disposition === "applied") {
    const tasks = (payload.tasks as JsonObject[]).map(({ task_id, description, dependencies }) => ({
      task_id: wordsOf(task_id),
      description: wordsOf(description),
      dependencies: Array.isArray(dependencies) ? dependencies.map(String) : [],
    }));
    show({ type: "plan", summary: wordsOf(payload.summary), tasks });
  }
  show({ type: "record", sequence, ...record });
}

function withDefault(question: AskedQuestion): AnsweredQuestion {
  const { question_id, text, why = null, options = [], default: usual = "" } = question;
  const words = options.map((option) => wordsOf(option as JsonObject[string]));
  return { question_id, text, why, options: words, default: usual, answer: usual, by: "default" };
}

async function askAll(stage: Stage, { waiting }: Ran): Promise<AnsweredQuestion[]> {
  const questions = waiting.filter((one) => one.kind === "question");
  const answers: AnsweredQuestion[] = [];
  stage.show({ type: "questions", count: questions.length });
  for (const [index, question] of questions.entries()) {
    const answer = await askPerson(stage, question, { number: index + 1, of: questions.length });
    if (stage.interrupted.aborted) break;
    stage.show({ type: "question", ...answer });
    answers.push(answer);
  }
  return answers;
}

function endedTooEarly({ end }: Ran): Failure {
  const how = end.code === null ? `by ${end.signal}` : `with exit code ${end.code}`;
  return failure("environment", `The scheduler ended ${how} before the demo could kill it. ${end.said}`.trim(), {
    hint: `Run the plan by itself to see why: bosun run --plan ${shellWord(shipped("examples", "survey.yaml"))}`,
  });
}
