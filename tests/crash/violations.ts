import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { loadModes, MODES } from "../../src/modes/index.ts";
import { canonicalJson } from "../../src/lib/canonical.ts";
import { type Json, type JsonObject, listOf, objectOf, textOf } from "../../src/lib/json.ts";
import { eventLines } from "../../src/log/events.ts";
import { verifySession } from "../../src/runtime/proof.ts";
import { openReader } from "../../src/store/sqlite-store.ts";
import type { PayloadByType } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Outcome } from "./fate.ts";
import { logOf, type Place } from "./place.ts";
import { value } from "../results.ts";
import { living } from "../processes.ts";

/** Collections of which a closed session has no rows. */
const OPEN = new Set(["turn", "timer", "ask", "check", "child", "hold", "process"]);

/** The report without fields that a crash may change and without this place's names. */
export function essence(place: Place): Json {
  const { started_at: _, finished_at: __, usage: ___, recoveries: ____, log: _____, ...rest } = reportOf(place);
  const tickets = listOf(rest["tickets"]).map(objectOf);
  const essential = { ...rest, tickets: tickets.map(({ usage: _usage, ...ticket }) => ticket) };
  const text = JSON.stringify(essential).replaceAll(place.directory, "PLACE").replaceAll(place.session_id, "SESSION");
  return JSON.parse(text) as Json;
}

function reportOf({ home, session_id }: Place): JsonObject {
  return JSON.parse(readFileSync(join(home, "sessions", session_id, "final_report.json"), "utf8")) as JsonObject;
}

/** Everything wrong with a finished session, in words; empty if nothing is. */
export async function violationsOf(place: Place, outcome: Outcome, undisturbed: Json | undefined): Promise<string[]> {
  if (outcome.violations.length > 0) return [...outcome.violations];
  const log = logOf(place);
  const children = log
    .filter(({ payload_type }) => payload_type === "session_begun")
    .map(({ payload }): Family => {
      const child = { ...place, session_id: payload["session_id"] as string };
      return { place: child, log: logOf(child) };
    });
  const violations = [...reportViolations(place, undisturbed), ...notificationViolations(place)];
  violations.push(...recordViolations(log, outcome, children));
  for (const { log: own } of children) violations.push(...recordViolations(own, { ...outcome, words: 0 }, []));
  for (const each of [{ place, log }, ...children]) {
    violations.push(...agentViolations(each.place, each.log), ...folderViolations(each.place, each.log));
    violations.push(...(await storeViolations(each.place, each.log)));
  }
  return violations;
}

/** A session or its child, in the same place. */
interface Family {
  readonly place: Place;
  readonly log: readonly LogRecord[];
}

function reportViolations(place: Place, undisturbed: Json | undefined): string[] {
  const found = essence(place);
  if (undisturbed === undefined || canonicalJson(found) === canonicalJson(undisturbed)) return [];
  return [`the report is ${JSON.stringify(found)}, undisturbed it is ${JSON.stringify(undisturbed)}`];
}

function recordViolations(log: readonly LogRecord[], { kills, words }: Outcome, children: readonly Family[]): string[] {
  const violations: string[] = [];
  const done = new Map<string, number>();
  const runs = new Map<string, number>();
  let tokens = 0;
  for (const { record, payload_type, payload } of log) {
    if (payload_type === "session_finished")
      tokens += (payload["usage"] as { input_tokens: number | null }).input_tokens ?? 0;
    for (const { ticket_id, to } of record.effects ?? [])
      if (to === "done") done.set(ticket_id, (done.get(ticket_id) ?? 0) + 1);
    tokens += record.usage?.input_tokens ?? 0;
    if (payload_type !== "turn_request") continue;
    const turn_id = record.turn_id ?? "";
    const run = record.run ?? 0;
    if (run <= (runs.get(turn_id) ?? 0)) violations.push(`${turn_id} was requested again under run ${run}`);
    runs.set(turn_id, run);
  }
  for (const [ticket_id, times] of done) if (times !== 1) violations.push(`${ticket_id} became done ${times} times`);
  const count = (type: string) => log.filter(({ payload_type }) => payload_type === type).length;
  const closing = log.at(-2);
  if (closing?.payload_type !== "final_report" || count("session_closed") !== 1)
    return [...violations, "there is not one final report and closing record, at the end"];
  const { usage, recoveries } = closing.payload as unknown as PayloadByType["final_report"];
  const { turns, input_tokens } = usage;
  const asked = [log, ...children.map((child) => child.log)]
    .flat()
    .filter(({ payload_type }) => payload_type === "turn_request").length;
  if (turns !== asked) violations.push(`${turns} turns counted, ${asked} requested`);
  if ((input_tokens ?? 0) !== tokens) violations.push(`${input_tokens} tokens counted, ${tokens} reported`);
  const crashes = log.filter(({ payload_type, payload }) => {
    return payload_type === "session_recovered" && payload["graceful"] === false;
  }).length;
  if (crashes > kills.length) violations.push(`${crashes} recoveries after ${kills.length} kills`);
  if (recoveries !== crashes) violations.push(`the report counts ${recoveries} recoveries, the log ${crashes}`);
  const said = log.filter(({ source, record }) => source === "user" && record.actor?.via === "test").length;
  if (said !== words) violations.push(`a person put ${words} rows, and ${said} are on record`);
  return violations;
}

/** What the agents saw and left. */
function agentViolations({ workspace, session_id }: Place, log: readonly LogRecord[]): string[] {
  const file = join(workspace, "marks");
  const marks = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  const violations = marks.filter((mark) => mark.startsWith("double"));
  const begun = new Map<string, number>();
  for (const [what, , turn_id = "", , session = ""] of marks.map((mark) => mark.split(" ")))
    if (what === "start" && session === session_id) begun.set(turn_id, (begun.get(turn_id) ?? 0) + 1);
  for (const [turn_id, times] of begun) {
    if (turn_id === "check") continue;
    const asked = log.filter(({ payload_type, record }) => {
      return payload_type === "turn_request" && record.turn_id === turn_id;
    });
    if (times > asked.length) violations.push(`${turn_id} was worked on ${times} times in ${asked.length} runs`);
  }
  for (const pid of living(session_id)) violations.push(`process ${pid} lives`);
  return violations;
}

/** Each question and the end are notified once; only a notification that a crash may have cut short is repeated, marked `again`. */
function notificationViolations({ workspace, scenario }: Place): string[] {
  const file = join(workspace, "told");
  const told = existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
  const times = new Map<string, number>();
  let ends = 0;
  for (const line of told) {
    const {
      event,
      again,
      questions = [],
    } = JSON.parse(line) as {
      event: string;
      again?: boolean;
      questions?: { ask_id: string }[];
    };
    if (event === "closed") ends += 1;
    if (again === true || event === "stopped") continue;
    for (const about of event === "closed" ? [event] : new Set(questions.map(({ ask_id }) => ask_id)))
      times.set(about, (times.get(about) ?? 0) + 1);
  }
  const violations = [...times]
    .filter(([, count]) => count > 1)
    .map(([about, count]) => `${about} was notified ${count} times`);
  if (scenario.config?.["notify"] !== undefined && ends === 0) violations.push("the end was not notified");
  return violations;
}

function folderViolations(place: Place, log: readonly LogRecord[]): string[] {
  const { home, session_id } = place;
  const violations: string[] = [];
  const folder = join(home, "logs", session_id);
  const names = readdirSync(folder).filter((name) => name !== "events.log" && name !== "output");
  if (names.length !== log.length) violations.push(`the log has ${names.length} files for ${log.length} records`);
  const events = readFileSync(join(folder, "events.log"), "utf8");
  const lines = log.map((record) => eventLines(record.integrity.sequence, record));
  if (events !== lines.join("")) violations.push("events.log differs from the log");
  for (const name of readdirSync(home, { recursive: true, encoding: "utf8" }))
    if (/\.tmp$|\.partial$|\.publishing$/.test(name)) violations.push(`${name} is left`);
  const report = readFileSync(join(home, "sessions", session_id, "final_report.md"), "utf8");
  if (!report.endsWith("\n")) violations.push("final_report.md is not whole");
  return [...violations, ...documentViolations(place, log)];
}

/** The document of a session, if its mode has one, is whole and alone in its folder. */
function documentViolations(place: Place, log: readonly LogRecord[]): string[] {
  const [mode, workspace] = [textOf(log[0]?.payload["mode"]), textOf(log[0]?.payload["workspace"])];
  const document = MODES.get(mode)?.reader.presentation.document?.(reportOf(place));
  if (document === undefined) return [];
  const file = join(workspace, document.path);
  const text = existsSync(file) ? readFileSync(file, "utf8") : undefined;
  const beside = existsSync(dirname(file)) ? readdirSync(dirname(file)).length - 1 : 0;
  return text === `${document.text}\n` && beside === 0 ? [] : [`${file} is ${text}, with ${beside} other files`];
}

async function storeViolations({ home, session_id }: Place, log: readonly LogRecord[]): Promise<string[]> {
  const database = new SqliteDatabase(join(home, "bosun.db"), { readonly: true });
  const integrity = database.pragma("integrity_check", { simple: true });
  database.close();
  const violations = integrity === "ok" ? [] : [`integrity_check: ${String(integrity)}`];
  const store = value(openReader(home));
  try {
    const stored = value(await store.load(session_id));
    const { last_sequence, head, outcome } = stored.session;
    const proof = value(
      verifySession(join(home, "logs", session_id), await loadModes(), { sequence: last_sequence, hash: head }),
    );
    if (!proof.ok || proof.decisions !== "ok") violations.push(`verify: ${JSON.stringify(proof)}`);
    if (last_sequence !== log.length) violations.push(`${log.length} files for ${last_sequence} records`);
    if (outcome === null) violations.push("the session has no outcome");
    const report = log.at(-2)?.payload;
    if (canonicalJson(reportOf({ home, session_id } as Place)) !== canonicalJson(report ?? null))
      violations.push("the report is not the one in the log");
    for (const { collection, id } of stored.rows())
      if (OPEN.has(collection)) violations.push(`${collection} ${id} is left`);
    if (store.inbox.pending(session_id).length > 0) violations.push("the inbox is not empty");
    if (store.holder(session_id)) violations.push("the session is held");
    violations.push(...artifactViolations(home, session_id, store.artifacts(session_id)));
  } finally {
    store.close();
  }
  return violations;
}

/** Every recorded artifact is a file, and every file is a recorded artifact. */
function artifactViolations(home: string, session_id: string, rows: readonly { readonly path: string }[]): string[] {
  const folder = join(home, "sessions", session_id, "artifacts");
  const files = new Set(existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : []);
  const recorded = new Set(rows.map(({ path }) => join(home, path)));
  const missing = [...recorded].filter((path) => !files.has(path));
  const stray = [...files].filter((path) => !recorded.has(path));
  return [...missing.map((path) => `${path} is missing`), ...stray.map((path) => `${path} is not on record`)];
}
