import { type JsonObject, listOf, objectOf, textOf, textWithin } from "../../lib/json.ts";
import { baselineOf } from "../../protocol/criteria.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { Demo } from "./bosun.ts";
import { counted, type Style } from "./screen.ts";

/** Shows the questions, the plan or the progress of work in a record. */
export async function showRecord(demo: Demo, record: UnsealedRecord): Promise<void> {
  const { screen, ask } = demo;
  const { payload_type, payload } = record;
  if (record.record.disposition !== "applied") return;
  // At the terminal, questions are shown when they are asked.
  if (payload_type === "clarification" && ask === undefined) {
    await showQuestions(demo, listOf(payload["questions"]).map(objectOf));
  }
  if (payload_type === "plan") {
    const tasks = listOf(payload["tasks"]).map(objectOf);
    screen.section("plan", { tasks }, `The plan: ${counted(tasks.length, "task")}`);
    for (const { task_id, description, dependencies } of tasks) {
      const before = listOf(dependencies).map(textWithin).join(" and ");
      screen.row(textOf(task_id), `${textOf(description)}${before === "" ? "" : ` After ${before}.`}`);
    }
    screen.section("work", {}, "The work, each ticket in a copy of its own; a command checks every result");
  }
  for (const { ticket, text, style, evidence } of workLines(record)) screen.work(ticket, text, style, evidence);
}

/** Shows questions with their answers, typed at the terminal or the default ones, and returns the options that give them. */
export async function showQuestions({ screen, ask }: Demo, questions: readonly JsonObject[]): Promise<string[]> {
  const title = `The manager asks ${counted(questions.length, "question")} before it plans`;
  screen.section("questions", { questions }, title);
  const words: string[] = [];
  for (const question of questions) {
    const usual = textOf(question["default"]);
    screen.blank();
    screen.say(textOf(question["text"]), 3, "bold");
    screen.row("why", textOf(question["why"]));
    screen.row("options", listOf(question["options"]).map(textWithin).join(" | "));
    const typed = await ask?.(`   Answer [${usual}]: `);
    const answer = typed?.trim() || usual;
    screen.row("answer", ask === undefined ? `${answer}  (the default)` : answer);
    words.push("--answer", `${textOf(question["question_id"])}=${answer}`);
  }
  return words;
}

interface WorkLine {
  readonly ticket: string;
  readonly text: string;
  readonly style?: Style | undefined;
  /** The conflict, or the first line that a failed check printed. */
  readonly evidence?: readonly string[];
}

/** What a record reports about the progress of tickets: transitions, check results, failed turns. */
export function workLines({ source, payload_type, payload, record }: UnsealedRecord): WorkLine[] {
  const { disposition, ticket_id, effects = [] } = record;
  const ticket = ticket_id ?? "-";
  if (disposition !== "applied") return [];
  const moves = effects.filter(({ from }) => from !== null);
  if (payload_type === "turn_failed" && moves.length === 0) {
    return [{ ticket, text: `${textWithin(payload["code"])}: ${textWithin(payload["message"])}`, style: "yellow" }];
  }
  const results = payload_type === "check_result" ? listOf(payload["results"]).map(objectOf) : [];
  if (moves.length === 0) {
    // Before there is work, most of them fail.
    if (baselineOf(textOf(payload["check_id"])) === "plan") {
      const passing = results.filter(({ passed }) => passed === true).length;
      const text = `before any work, the plan's checks: ${passing} of ${results.length} passed`;
      return [{ ticket, text, style: "dim" }];
    }
    const when = ticket_id === undefined ? "before any work, check" : "check";
    return results.map(({ passed, criterion }) => {
      const [word, style] = passed === true ? (["passed", "dim"] as const) : (["failed", "yellow"] as const);
      return { ticket, text: `${when} ${word}: ${textWithin(criterion)}`, style };
    });
  }
  const isConflict = objectOf(payload["merge"])["state"] === "conflict";
  const failed = results.find(({ passed }) => passed !== true);
  const why = textWithin(failed?.["criterion"] ?? listOf(payload["requested_changes"])[0]);
  const printed = textWithin(failed?.["output"]).split("\n");
  const [evidence, sentBack] = isConflict
    ? [conflictIn(printed), why]
    : [printed.slice(0, 1), `this check failed: ${why}`];
  const done = payload["merge"] === undefined ? "done" : "merged into the session's branch, done";
  const words: Readonly<Record<string, Omit<WorkLine, "ticket">>> = {
    "pending in_progress": { text: "work starts" },
    "in_progress awaiting_review": { text: `${source} hands in its work` },
    "awaiting_review in_progress": { text: `SENT BACK, ${sentBack}`, style: "yellow", evidence },
    "awaiting_review done": { text: done, style: "green" },
  };
  return moves.map(({ ticket_id, from, to, reason }) => {
    const other = `${from} -> ${to}${reason === undefined ? "" : ` (${reason})`}`;
    return { ticket: ticket_id, ...(words[`${from} ${to}`] ?? { text: other, style: "yellow" }) };
  });
}

/** The lines in conflict, with their marks but without the commits that these name. */
function conflictIn(printed: readonly string[]): string[] {
  const from = printed.findIndex((line) => line.startsWith("<<<<<<<"));
  return printed.slice(from < 0 ? 0 : from).map((line) => line.replace(/^([<|>]{7}) .*/, "$1"));
}
