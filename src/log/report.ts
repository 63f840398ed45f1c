import {
  appendFileSync,
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { ResultPart, Presentation } from "../kernel/presentation.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { formatDuration } from "../lib/durations.ts";
import { isDirectory, makeDirectory, OWN, realPath } from "../lib/files.ts";
import { isJsonObject, type Json, type JsonObject, objectOf, textOf, textWithin } from "../lib/json.ts";
import { escapedMarkdown, markdownSection, markdownTable } from "../lib/markdown.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import type { Role } from "../protocol/roles.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { attempt } from "./attempt.ts";
import { oneLine } from "./events.ts";
import { resultParts } from "./result-parts.ts";
import { spendWords, spentWords, totalWords } from "./usage-words.ts";

type Report = PayloadByType["final_report"];

/** Writes `final_report.json` and `final_report.md`, each whole or not at all, replacing earlier ones. Fails with `storage` or `storage_full`. */
export function writeReport(
  folder: string,
  payload: JsonObject,
  presentation: Presentation,
  roles: readonly Role[] = [],
): Fallible<void> {
  return attempt(folder, () => ok(writeBoth(folder, payload, presentation, roles)), "The final report");
}

/**
 * Writes the document of a final report, if its mode has one, whole or not at all. An existing one stays unless `replaces` is set: a person may have
 * changed it. Fails with `storage`, also if a link leads out of the workspace, which an agent may have made.
 */
export function writeDocument(
  workspace: string,
  payload: JsonObject,
  presentation: Presentation,
  { replaces }: { readonly replaces: boolean },
): Fallible<void> {
  const document = presentation.document?.(payload);
  if (document === undefined) return ok(undefined);
  const { path, text } = document;
  const file = resolve(workspace, path);
  const isInside = (folder: string, of: string) => !/^\.\.(?:\/|$)/.test(relative(of, folder));
  const write = (): Fallible<void> => {
    if (!isDirectory(workspace) || (!replaces && existsSync(file))) return ok(undefined);
    const folder = dirname(file);
    mkdirSync(folder, { recursive: true });
    if (isInside(folder, workspace) && !isInside(realPath(folder), realPath(workspace)))
      return fails("storage", `A link leads out of the workspace, so ${file} is not written.`, {
        hint: "Remove the link, then: bosun resume",
      });
    // A scheduler that died may have left it.
    const partial = `${file}.tmp`;
    rmSync(partial, { force: true });
    writeFileSync(partial, `${text.trimEnd()}\n`, { flag: "wx" });
    crashPoint("document_begun");
    renameSync(partial, file);
    return ok(undefined);
  };
  return attempt(dirname(file), write, "The report");
}

function writeBoth(folder: string, payload: JsonObject, presentation: Presentation, roles: readonly Role[]): void {
  makeDirectory(folder);
  const report = payload as unknown as Report;
  const parts =
    payload.result === undefined
      ? []
      : resultParts(presentation, objectOf(payload.result), { roles, usage: objectOf(payload.usage) });
  replace(join(folder, "final_report.md"), reportMarkdown(report, parts, resolve(folder, "../..")));
  crashPoint("report_begun");
  // Written last, since verification compares it with the record.
  replace(join(folder, "final_report.json"), reportJson(payload));
}

/** The lines of `JSON.stringify(payload, ordered, 2)`, made entry by entry: a single text of 100,000 tickets took 80 MiB more. */
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

/** The value as JSON, with lines after the first indented by `columns`. Line feeds inside texts are escaped. */
function indented(value: unknown, columns: number): string {
  return JSON.stringify(value, ordered, 2).replaceAll("\n", `\n${" ".repeat(columns)}`);
}

/** A replacer for JSON.stringify that sorts members as in the log, without copying a long report. */
function ordered(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, value[key]]));
}

/** Files are written in chunks of about this many characters, since a report may be long. */
const CHUNK = 64 * 1024;

function replace(path: string, lines: Iterable<string>): void {
  const partial = `${path}.tmp`;
  // A folder with this name, which only an agent can have made, cannot be replaced.
  rmSync(partial, { force: true, recursive: true });
  const file = openSync(partial, "wx", OWN.mode);
  try {
    let chunk = "";
    for (const line of lines) {
      chunk += `${line}\n`;
      if (chunk.length < CHUNK) continue;
      appendFileSync(file, chunk);
      chunk = "";
    }
    appendFileSync(file, chunk);
  } finally {
    closeSync(file);
  }
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) rmSync(path, { recursive: true });
  renameSync(partial, path);
}

/** Makes the report for people: the outcome, each ticket with its outputs, and the next steps. */
function* reportMarkdown(report: Report, parts: readonly ResultPart[], home: string): IterableIterator<string> {
  const { tickets, clarifications = [], next_steps } = report;
  const spent = spendWords(report.usage.by_role);
  yield* [
    `# ${phrase(report.requirement) || report.session_id}`,
    "",
    `Session ${report.session_id} (${report.mode}): **${report.outcome}**${report.reason === undefined ? "" : `, ${report.reason}`}.`,
    "",
    `- ${durationText(report)}, recoveries: ${report.recoveries}`,
    `- ${[`turns: ${report.usage.turns}`, ...totalWords(report.usage)].join(", ")}`,
    ...(spent === undefined ? [] : [`- ${spent}`]),
    `- log: ${report.log.records} records, head ${report.log.head}`,
  ];
  if (tickets.length > 0) yield "";
  if (tickets.length > 0) yield* markdownTable(COLUMNS, tickets, ticketRow);
  for (const ticket of tickets) yield* ticketSection(ticket, home);
  if (clarifications.length > 0) yield* ["", "## Asked and answered", "", ...clarifications.map(clarificationText)];
  yield* resultSections(parts);
  if (next_steps.length === 0) return;
  yield* ["", "## Next", "", ...next_steps.map((step) => `- ${withSession(report.session_id, phrase(step))}`)];
}

function durationText({ started_at, finished_at }: Report): string {
  const took = formatDuration(milliseconds(finished_at) - milliseconds(started_at));
  return `${took}, from ${started_at} to ${finished_at}`;
}

/** Adds the session's id to the commands of a recorded step, since the reader may have many sessions. */
function withSession(session_id: string, step: string): string {
  return step.replace(/(?<![\w./-])bosun (?:log|retry|replay)(?![\w-])/g, (command) => `${command} ${session_id}`);
}

function resultSections(parts: readonly ResultPart[]): string[] {
  return parts.flatMap(({ title, text, points }) => [
    "",
    ...markdownSection(`## ${phrase(title)}`, text, points.map(phrase), safeLine),
  ]);
}

type ReportedTicket = NonNullable<Report["tickets"]>[number];

const COLUMNS = ["ticket", "status", "owner", "attempts", "reviews", "checks", ""].map((heading) => ({ heading }));

function ticketRow(ticket: ReportedTicket): readonly unknown[] {
  const why = ticket.blocked_by?.length
    ? `waits for ${ticket.blocked_by.join(", ")}`
    : [ticket.reason, ticket.spent].filter(Boolean).join(", ");
  const checks = ticket.checks_passed === undefined ? "-" : ticket.checks_passed ? "passed" : "failed";
  const { ticket_id, status, owner = "-", attempts = 0, reviews = 0 } = ticket;
  return [ticket_id, status, owner, attempts, reviews, checks, phrase(why)];
}

function ticketSection(ticket: ReportedTicket, home: string): string[] {
  // A kept output is listed once, as an artifact.
  const kept = new Set<unknown>((ticket.artifacts ?? []).map(({ label }) => label));
  const outputs = (ticket.outputs ?? [])
    .filter((output) => !kept.has(typeof output === "string" ? output : output.label))
    .map((output) => outputWords(output as Json));
  const artifacts = (ticket.artifacts ?? []).map(({ label, uri }) => `${label}: ${openable(uri, home)}`);
  const issues = (ticket.issues ?? []).map((issue) => `issue: ${textWithin(issue as Json)}`);
  const suggestions = (ticket.next_actions ?? []).map((action) => `suggested: ${textWithin(action as Json)}`);
  const used = ticket.usage && ticket.usage.input_tokens !== null ? [`used: ${spentWords(ticket.usage)}`] : [];
  const entries = [...outputs, ...artifacts, ...issues, ...suggestions, ...used].map(phrase);
  const heading = `## ${ticket.ticket_id}: ${phrase(ticket.description)}`;
  const lines = markdownSection(heading, ticket.summary ?? "", entries, safeLine);
  return lines.length === 1 ? [] : ["", ...lines];
}

/** Resolves a kept artifact's path, which its record stores relative to the home. Other addresses are complete. */
export function openable(uri: string, home: string): string {
  return uri.startsWith("sessions/") ? join(home, uri) : uri;
}

function clarificationText({ question, answer, ticket_id }: NonNullable<Report["clarifications"]>[number]): string {
  return `- ${ticket_id === undefined ? "" : `${ticket_id}: `}${phrase(question)} **${phrase(answer)}**`;
}

/** An output, and its location if the worker reported one. */
export function outputWords(output: Json): string {
  if (typeof output === "string") return output;
  const { label, text, uri } = objectOf(output);
  return [...new Set([label, text, uri].map(textOf))].filter((words) => words !== "").join(": ");
}

/** An agent's or a person's text on one line, without markup of its own. */
function phrase(value: unknown): string {
  const line = oneLine(textWithin(value as Json));
  return escapedMarkdown(line.replaceAll(/\s+/g, " ").trim());
}

/** A line of such a text, as it is spaced. */
function safeLine(text: string): string {
  return escapedMarkdown(oneLine(text));
}
