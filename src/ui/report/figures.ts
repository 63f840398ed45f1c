import type { LedgerSpend } from "../../kernel/ledger.ts";
import { shownStatus, statusesOf, type Tone } from "../../kernel/presentation.ts";
import { reasonReader } from "../../kernel/state.ts";
import { spentOf } from "../../runtime/usage.ts";
import { costWords, countWords, totalWords } from "../../log/usage-words.ts";
import { formatDuration } from "../../lib/durations.ts";
import { defined } from "../../lib/json.ts";
import { askText, blockersOf, countOf, type SessionModel, type TicketModel } from "../model/model.ts";
import { mergingWords } from "../merging.ts";
import { counted } from "../words.ts";
import type { SessionReport, TurnSpan } from "./report-model.ts";

// Labels and figures that a report shows in every format.

export function factsOf(report: SessionReport): [label: string, text: string][] {
  const { session, from, to, recoveries, proof } = report;
  const { subjects, spend } = session;
  const facts: [string, string, boolean][] = [
    [`${subjectNameOf(report)}s`, progressOf(report), subjects.size > 0],
    ["waits for a person", waitsOf(session), session.closed === undefined],
    ["took", durationOf(from, to), true],
    ["turns", String(spend.turns), true],
    ["tokens", countWords(spend.input_tokens + spend.output_tokens, spend.untold_turns), spend.turns > 0],
    ["cost", costOf(spend), spend.cost_usd > 0 || spend.unpriced_turns > 0],
    ["recoveries", String(recoveries), recoveries > 0],
    ["records", String(proof.records), true],
    ["began", `${momentOf(from)} UTC`, from !== ""],
    ["mode", session.mode, true],
    ["in", session.workspace, true],
    ["written by", `Bosun ${session.version}`, session.version !== ""],
  ];
  return facts.flatMap(([label, text, isKnown]) => (isKnown && text !== "" ? [[label, text]] : []));
}

export function subjectNameOf({ presentation }: SessionReport): string {
  return presentation?.subjectName ?? "subject";
}

/** `1 of 4 done`, with the mode's word for done; only the number of subjects if the mode is unknown. */
function progressOf({ session, presentation }: SessionReport): string {
  const { size } = session.subjects;
  if (presentation === undefined) return String(size);
  const done = statusesOf(presentation, "done");
  return `${countOf(session, done)} of ${size} ${done.join(" or ")}`;
}

function waitsOf(session: SessionModel): string {
  return [...session.asks.values()]
    .map((ask) => `${ask.subject === undefined ? "" : `${ask.subject}: `}${askText(session, ask)}`)
    .join("; ");
}

/** Whether a turn failed or was cut off, else who held it. */
export type SpanKind = "worker" | "manager" | "bad";

export function kindOf({ session }: SessionReport, { role_id, failed }: TurnSpan): SpanKind {
  if (failed !== undefined) return "bad";
  return session.roles.get(role_id)?.type === "manager" ? "manager" : "worker";
}

/** The tickets in the order of the plan, each with the reason for its status. */
export function ticketsOf({ session, presentation }: SessionReport): TicketModel[] {
  const reasonOf = reasonReader(session, presentation);
  const tickets = [...session.subjects.values()].sort((a, b) => a.order - b.order);
  return tickets.map((ticket) => {
    const waits_for = blockersOf(session, presentation, ticket).join(", ") || undefined;
    const merging = mergingWords(session, ticket, () => ticket.cause);
    return { ...ticket, reason: reasonOf(ticket), ...defined({ waits_for, merging }) };
  });
}

export function toneOf({ presentation }: SessionReport, status: string): Tone {
  return shownStatus(presentation, status).tone;
}

/** The cost alone, for use under a heading that names it. */
export function costOf(spend: LedgerSpend): string {
  const { cost_usd, told_usd } = spentOf(spend);
  return cost_usd === null && told_usd === undefined ? "unknown" : costWords(cost_usd, told_usd);
}

export function durationOf(from: string, to: string): string {
  return formatDuration(Date.parse(to) - Date.parse(from));
}

/** `2026-01-31 20:31:02`, in UTC. */
export function momentOf(at: string): string {
  return at.slice(0, 19).replace("T", " ");
}

/** `4 turns`, with tokens and cost if there are any. */
export function spendWordsOf(spend: LedgerSpend): string {
  return [counted(spend.turns, "turn"), ...totalWords(spentOf(spend))].join(", ");
}
