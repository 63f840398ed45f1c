import type { JsonObject } from "../../../lib/json.ts";
import { safeQuoted, safeText } from "../../display.ts";
import { problemLines, proofLines } from "../../proof-words.ts";
import { durationOf, factsOf, kindOf, outcomeOf, PROOF_TONE, proofWord, ticketsOf, toneOf } from "../figures.ts";
import type { Envelope } from "../envelopes.ts";
import type { SessionReport } from "../report-model.ts";
import { drawGraph } from "./graph.ts";
import { type PageAssets, pageParts } from "./page.ts";
import type { PageData, PageEnvelope, PageProof } from "./page-data.ts";
import { listsOf } from "../lists.ts";
import { drawTimeline, type TimelineRow } from "./timeline.ts";

/** Number of envelopes in a data block. A block is parsed as a whole when one of its envelopes is needed. */
const BLOCK = 500;

/** A report as one HTML file, in parts. */
export function htmlReport(report: SessionReport, assets: PageAssets): IterableIterator<string> {
  const { from, to } = report;
  const tickets = ticketsOf(report);
  const nodes = tickets.map((ticket, row) => ({ ...ticket, tone: toneOf(report, ticket.status), row }));
  const drawings = {
    timeline: drawTimeline(timelineRows(report), Date.parse(from), Date.parse(to)),
    graph: drawGraph(nodes),
  };
  return pageParts(safeDeep(dataOf(report)), blocksOf(report), drawings, assets);
}

function dataOf(report: SessionReport): PageData {
  const { session, envelopes, result, from } = report;
  const { text, tone } = outcomeOf(report);
  return {
    title: session.requirement || session.session_id || "A session",
    session_id: session.session_id,
    outcome: text,
    tone,
    facts: factsOf(report),
    parts: result,
    proof: proofOf(report),
    lists: listsOf(report),
    began: beginningOf(from),
    envelopes: envelopes.length,
    block: BLOCK,
  };
}

function proofOf(report: SessionReport): PageProof {
  const { text, tone } = proofWord(report);
  const { proof } = report;
  return {
    tone,
    word: text,
    lines: proofLines(proof).map(({ found, name, text }) => [PROOF_TONE[found], name, text]),
    problems: problemLines(proof),
  };
}

/** An envelope as a row of the page, sanitised. The payload stays JSON. */
function rowOf(envelope: Envelope, began: number): PageEnvelope {
  const { sequence, at, source, target, payload_type, ticket_id = "", disposition, line } = envelope;
  const fate = disposition === "applied" ? "" : disposition;
  const payload = safeQuoted(envelope.payload);
  const texts = safeDeep([source, target, payload_type, ticket_id, fate, line] as const);
  return [sequence, Date.parse(at) - began, ...texts, payload];
}

function* blocksOf({ envelopes, from }: SessionReport): IterableIterator<readonly PageEnvelope[]> {
  const began = beginningOf(from);
  for (let first = 0; first < envelopes.length; first += BLOCK) {
    yield envelopes.slice(first, first + BLOCK).map((envelope) => rowOf(envelope, began));
  }
}

/** Without a readable record there is no beginning. */
function beginningOf(from: string): number {
  return Date.parse(from) || 0;
}

/** A row for each ticket, after the one for the session itself. */
function timelineRows(report: SessionReport): TimelineRow[] {
  const { to } = report;
  const turns = Map.groupBy(report.turns, ({ ticket_id }) => ticket_id);
  const rows = [undefined, ...ticketsOf(report)].map((ticket, index): TimelineRow => {
    const spans = (turns.get(ticket?.id) ?? []).map((span) => {
      const { role_id, from, to: end = to, failed, turn_id, run } = span;
      const fate = failed === undefined ? "" : `, ${failed}`;
      return {
        from: Date.parse(from),
        to: Date.parse(end),
        kind: kindOf(report, span),
        title: `${role_id}, ${durationOf(from, end)}${fate} (${turn_id}.${run})`,
      };
    });
    const marks = (ticket?.moves ?? []).flatMap(({ at, to: state, reason }) => {
      const tone = toneOf(report, state);
      const title = `${state}${reason === undefined ? "" : ` (${reason})`}`;
      return tone === "busy" || tone === "quiet" || tone === "plain" ? [] : [{ at: Date.parse(at), tone, title }];
    });
    return { name: ticket?.id ?? "session", row: ticket === undefined ? undefined : index - 1, spans, marks };
  });
  return rows.filter(({ row, spans }) => row !== undefined || spans.length > 0);
}

/** Sanitises every text in a value: a page shows no escape sequences, and no text reorders what is beside it. */
function safeDeep<T>(value: T): T {
  if (typeof value === "string") return safeText(value) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => safeDeep(one)) as T;
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value as JsonObject).map(([key, one]) => [key, safeDeep(one)]);
  return Object.fromEntries(entries) as T;
}
