import { shownStatus } from "../../kernel/presentation.ts";
import { needsOf, sessionState } from "../ending.ts";
import type { Ending, TicketLine } from "../reporter.ts";
import type { Output } from "../terminal.ts";
import { commandFor, sentenceFor, type Waiting } from "../waiting.ts";
import { localize } from "../words.ts";
import { annotation } from "./workflow-command.ts";

/** Maximum number of annotations of a level that GitHub shows for a step. */
const MAX_ANNOTATIONS = 10;

type Naming = Pick<Output, "program" | "anywhere">;

/** The annotations for how a session was left: what ended it, its tickets in error, and what waits for a person. */
export function annotationsFor(naming: Naming, ending: Ending): string[] {
  const { session_id, presentation, tickets, failure, message, outcome } = ending;
  const failed = tickets.filter(({ status }) => shownStatus(presentation, status).stage === "failed");
  const needs = needsOf(ending);
  const troubles = [
    ...(failure ? [annotation("error", session_id, failure.message)] : []),
    ...failed.map((ticket) => ticketAnnotation(naming, session_id, presentation.subjectName, ticket)),
  ];
  const stopped = outcome === undefined && failure === undefined && message !== undefined;
  return [
    ...troubles.slice(0, MAX_ANNOTATIONS),
    ...needs.slice(0, MAX_ANNOTATIONS).map(([id, one]) => needAnnotation(naming, id, one)),
    ...(stopped ? [annotation("notice", sessionState(ending), localize(naming, message))] : []),
  ];
}

function ticketAnnotation(
  naming: Naming,
  session_id: string,
  subject: string,
  { ticket_id, reason, spent, said = "" }: TicketLine,
): string {
  const why = [[reason, spent].filter(Boolean).join(", "), said].filter(Boolean).join("\n");
  const log = localize(naming, `bosun log ${session_id} ${ticket_id}`);
  return annotation(
    "error",
    `${session_id}: ${subject} ${ticket_id} is in error`,
    [why, log].filter(Boolean).join("\n"),
  );
}

function needAnnotation(naming: Naming, session_id: string, waiting: Waiting): string {
  const command = localize(naming, commandFor(session_id, waiting));
  return annotation("warning", `${session_id} needs a person`, `${sentenceFor(waiting)}\n${command}`);
}
