import { join } from "node:path";
import { type JsonObject, listOf, objectOf, textOf, textWithin } from "../../lib/json.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import { counted, type Item, readFinding } from "../survey/finding.ts";
import type { Demo } from "./bosun.ts";
import type { Style } from "./screen.ts";

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
      const before = listOf(dependencies).map(textWithin);
      const after = before.length === tasks.length - 1 ? "all others" : before.join(", ");
      screen.row(textOf(task_id), `${textOf(description)}${before.length === 0 ? "" : ` After ${after}.`}`);
    }
    screen.section("work", {}, "The work, at most two workers at a time; a command checks every result");
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

/** A line about a ticket. */
interface WorkLine {
  readonly ticket: string;
  readonly text: string;
  readonly style?: Style | undefined;
  /** The first line that a failed check printed. */
  readonly evidence?: string | undefined;
}

/** What a record reports about the progress of tickets: transitions, check results, failed turns. */
export function workLines({ source, payload_type, payload, record }: UnsealedRecord): WorkLine[] {
  const { disposition, ticket_id: ticket = "-", effects = [] } = record;
  if (disposition !== "applied") return [];
  const moves = effects.filter(({ from }) => from !== null);
  if (payload_type === "turn_failed" && moves.length === 0) {
    return [{ ticket, text: `${textWithin(payload["code"])}: ${textWithin(payload["message"])}`, style: "yellow" }];
  }
  const results = payload_type === "check_result" ? listOf(payload["results"]).map(objectOf) : [];
  if (moves.length === 0) {
    return results.map(({ passed, criterion }) => {
      const [word, style] = passed === true ? (["passed", "dim"] as const) : (["failed", "yellow"] as const);
      return { ticket, text: `check ${word}: ${textWithin(criterion)}`, style };
    });
  }
  const outputs = listOf(payload["outputs"]).map((output) => textOf(objectOf(output)["label"]) || textOf(output));
  const failed = results.find(({ passed }) => passed !== true);
  const why = textWithin(failed?.["criterion"] ?? listOf(payload["requested_changes"])[0]);
  const [evidence] = textWithin(failed?.["output"]).split("\n");
  const words: Readonly<Record<string, Omit<WorkLine, "ticket">>> = {
    "pending discussing": { text: "the plan names a risk, so the worker first proposes how to work" },
    "pending in_progress": { text: "work starts" },
    "discussing in_progress": { text: "work starts" },
    "in_progress awaiting_review": { text: `${source} hands in ${outputs.join(", ")}` },
    "awaiting_review in_progress": { text: `SENT BACK, this check failed: ${why}`, style: "yellow", evidence },
    "awaiting_review done": { text: "done", style: "green" },
  };
  return moves.map(({ ticket_id, from, to, reason }) => {
    const other = `${from} -> ${to}${reason === undefined ? "" : ` (${reason})`}`;
    return { ticket: ticket_id, ...(words[`${from} ${to}`] ?? { text: other, style: "yellow" }) };
  });
}

const SHOWN = 6;
const SHOWN_OF_A_KIND = 3;

/** Shows what the crew found and returns the path of its report. */
export async function showFindings({ screen, bosun }: Demo, log: readonly LogRecord[]): Promise<string> {
  const kept = (name: string) => {
    const artifact = log.findLast(
      ({ payload_type, payload }) => payload_type === "artifact_ref" && payload["label"] === name,
    );
    return join(bosun.setting.home, textWithin(artifact?.payload["uri"]));
  };
  const { items, details } = await readFinding(kept("digest.json"));
  const kinds = listOf(details["kinds"]).map(objectOf);
  const clean = kinds.filter((kind) => kind["items"] === 0).map((kind) => textWithin(kind["looked_at"]));
  screen.section("findings", { items, clean }, `What the crew found: ${counted(items.length, "finding")}, worst first`);
  const top = topFindings(items, SHOWN, SHOWN_OF_A_KIND);
  for (const { file, line, text } of top) {
    screen.say(line === undefined ? file : `${file}:${line}`, 3, "bold");
    screen.say(text, 6);
  }
  if (items.length > top.length) screen.say(`${items.length - top.length} more are in the report of findings below.`);
  if (clean.length > 0) screen.say("Checked, with nothing to find:");
  for (const text of clean) screen.say(text, 6);
  return kept("report.md");
}

/** The first findings, but only one per file and few of a kind, so that a long list of one kind does not hide the others. */
export function topFindings(items: readonly Item[], most: number, ofAKind: number): Item[] {
  const top: Item[] = [];
  for (const item of items) {
    const sameKind = top.filter(({ claim }) => claim["from"] === item.claim["from"]);
    const sameFile = top.some(({ file }) => file === item.file);
    if (top.length < most && sameKind.length < ofAKind && !sameFile) top.push(item);
  }
  return top;
}
