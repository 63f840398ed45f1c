import { appendFileSync, closeSync, lstatSync, openSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { ResultPart, Presentation } from "../kernel/presentation.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { formatDuration } from "../lib/durations.ts";
import { makeDirectory } from "../lib/directory.ts";
import { isJsonObject, type JsonObject } from "../lib/json.ts";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { attempt } from "./attempt.ts";
import { oneLine } from "./one-line.ts";

type Report = PayloadByType["final_report"];

/** Writes `final_report.json` and `final_report.md`, each as a whole or not at all; what the last close said counts. `storage`, `storage_full`. */
export function writeReport(folder: string, payload: JsonObject, presentation: Presentation): Result<void, Failure> {
  return attempt(folder, () => ok(writeBoth(folder, payload, presentation)), "The final report");
}

function writeBoth(folder: string, payload: JsonObject, presentation: Presentation): void {
  makeDirectory(folder);
  replace(join(folder, "final_report.md"), reportMarkdown(payload as unknown as Report, presentation));
  crashPoint("report_begun");
  // The last to be written is the one that a proof holds against the record.
  replace(join(folder, "final_report.json"), reportJson(payload));
}

/** As `JSON.stringify(payload, ordered, 2)`, but a list is written entry by entry: the text of 100,000 tickets took 80 MiB more. */
function* reportJson(payload: JsonObject): IterableIterator<string> {
  const keys = Object.keys(payload)
    .filter((key) => payload[key] !== undefined)
    .sort();
  yield "{";
  for (const key of keys) {
    const value = payload[key];
    const end = key === keys.at(-1) ? "" : ",";
    if (Array.isArray(value) && value.length > 0) {
      yield `  ${JSON.stringify(key)}: [`;
      const last = value.length - 1;
      for (const [place, entry] of value.entries()) yield `    ${indented(entry, 4)}${place < last ? "," : ""}`;
      yield `  ]${end}`;
    } else {
      yield `  ${JSON.stringify(key)}: ${indented(value, 2)}${end}`;
    }
  }
  yield "}";
}

/** Begins each line after the first so many columns later: a line feed that is part of a text is escaped there. */
function indented(value: unknown, columns: number): string {
  return JSON.stringify(value, ordered, 2).replaceAll("\n", `\n${" ".repeat(columns)}`);
}

/** For JSON.stringify: members in the order that they have in the log. A report may be long, so no second one is made in that order. */
function ordered(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, value[key]]));
}

/** A file is written in pieces of about this many characters: a report may be long. */
const PIECE = 64 * 1024;

function replace(path: string, lines: Iterable<string>): void {
  const partial = `${path}.tmp`;
  // No file takes the place of a folder, and only an agent can have put one there.
  rmSync(partial, { force: true, recursive: true });
  const file = openSync(partial, "wx");
  try {
    let piece = "";
    for (const line of lines) {
      piece += `${line}\n`;
      if (piece.length < PIECE) continue;
      appendFileSync(file, piece);
      piece = "";
    }
    appendFileSync(file, piece);
  } finally {
    closeSync(file);
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) rmSync(path, { recursive: true });
  renameSync(partial, path);
}

/** The report for people: how it ended, what each ticket came to, where its outputs are, and what to do next. */
function* reportMarkdown(report: Report, presentation: Presentation): IterableIterator<string> {
  const { tickets, clarifications = [], next_steps } = report;
  yield* [
    `# ${phrase(report.requirement) || report.session_id}`,
    "",
    `Session ${report.session_id} (${report.mode}): **${report.outcome}**${report.reason === undefined ? "" : `, ${report.reason}`}.`,
    "",
    `- ${tookWords(report)}, recoveries: ${report.recoveries}`,
    `- ${usageWords(report.usage)}`,
    `- log: ${report.log.records} records, head ${report.log.head}`,
  ];
  if (tickets.length > 0)
    yield* ["", "| ticket | status | owner | attempts | reviews | checks | |", "|---|---|---|---|---|---|---|"];
  for (const ticket of tickets) yield ticketRow(ticket);
  for (const ticket of tickets) yield* ticketSection(ticket);
  if (clarifications.length > 0) yield* ["", "## Asked and answered", "", ...clarifications.map(clarificationWords)];
  if (report.result !== undefined) yield* resultSections(presentation.parts(report.result as JsonObject));
  if (next_steps.length === 0) return;
  yield* ["", "## Next", "", ...next_steps.map((step) => `- ${ofSession(report.session_id, phrase(step))}`)];
}

function tookWords({ started_at, finished_at }: Report): string {
  const took = formatDuration(milliseconds(finished_at) - milliseconds(started_at));
  return `${took}, from ${started_at} to ${finished_at}`;
}

/** A recorded step knows of no other session; whoever reads it may have many. */
function ofSession(session_id: string, step: string): string {
  return step.replace(/(?<![\w./-])bosun (?:log|retry|replay)(?![\w-])/g, (command) => `${command} ${session_id}`);
}

/** Only what somebody told: agents that tell neither tokens nor money are most likely no models. */
function usageWords({ turns, input_tokens, output_tokens, cost_usd }: Report["usage"]): string {
  const isTold = input_tokens + output_tokens > 0;
  const cost = cost_usd === null ? "cost unknown" : `cost $${cost_usd}`;
  return [
    `turns: ${turns}`,
    ...(isTold ? [`tokens in ${input_tokens}, out ${output_tokens}`] : []),
    ...(isTold || (cost_usd ?? 0) > 0 ? [cost] : []),
  ].join(", ");
}

function resultSections(parts: readonly ResultPart[]): string[] {
  return parts.flatMap(({ title, text, points }) => [
    "",
    `## ${phrase(title)}`,
    "",
    ...quoted(text),
    ...(points.length > 0 ? ["", ...points.map((point) => `- ${phrase(point)}`)] : []),
  ]);
}

/** What an agent said is quoted, so that no line of it can pass for one of the report's own. */
function quoted(text: string): string[] {
  return text.trim() === "" ? [] : text.split("\n").map((line) => `> ${oneLine(line)}`.trimEnd());
}

type ReportedTicket = NonNullable<Report["tickets"]>[number];

function ticketRow(ticket: ReportedTicket): string {
  const why = ticket.blocked_by?.length ? `waits for ${ticket.blocked_by.join(", ")}` : (ticket.reason ?? "");
  const checks = ticket.checks_passed === undefined ? "-" : ticket.checks_passed ? "passed" : "failed";
  const { ticket_id, status, owner = "-", attempts = 0, reviews = 0 } = ticket;
  return `| ${[ticket_id, status, owner, attempts, reviews, checks, phrase(why).replaceAll("|", "\\|")].join(" | ")} |`;
}

function ticketSection(ticket: ReportedTicket): string[] {
  // Of what was kept the entry with its place says all.
  const kept = new Set<unknown>((ticket.artifacts ?? []).map(({ label }) => label));
  const outputs = (ticket.outputs ?? [])
    .filter((output) => !kept.has(typeof output === "string" ? output : output.label))
    .map(outputWords);
  const artifacts = (ticket.artifacts ?? []).map((artifact) => `${artifact.label}: ${artifact.uri}`);
  const issues = (ticket.issues ?? []).map((issue) => `issue: ${phrase(issue)}`);
  const suggestions = (ticket.next_actions ?? []).map((action) => `suggested: ${phrase(action)}`);
  const entries = [...outputs, ...artifacts, ...issues, ...suggestions].map((entry) => `- ${phrase(entry)}`);
  const said = quoted(ticket.summary ?? "");
  if (said.length + entries.length === 0) return [];
  const parts = [said, entries].filter((part) => part.length > 0);
  return ["", `## ${ticket.ticket_id}: ${phrase(ticket.description)}`, ...parts.flatMap((part) => ["", ...part])];
}

function clarificationWords({ question, answer, ticket_id }: NonNullable<Report["clarifications"]>[number]): string {
  return `- ${ticket_id === undefined ? "" : `${ticket_id}: `}${phrase(question)} **${phrase(answer)}**`;
}

/** What was made, and where it is if its worker said so. */
function outputWords(output: NonNullable<ReportedTicket["outputs"]>[number]): string {
  if (typeof output === "string") return output;
  const { label, text, uri } = output;
  return [...new Set([label, text, uri])].filter((words) => words !== undefined && words !== "").join(": ");
}

/** What an agent or a person said, as one line of a text for people. */
function phrase(value: unknown): string {
  const text =
    typeof value === "string"
      ? value
      : typeof value === "object" && value !== null && "text" in value
        ? String(value.text)
        : "";
  return oneLine(text).replaceAll(/\s+/g, " ").trim();
}
