import { clarificationsIn } from "../../kernel/kit/questions.ts";
import type { ReadonlyState, TurnDraft, TurnStamp } from "../../kernel/mode.ts";
import { eventsOf, firstOf, from, historyOf } from "../../kernel/references.ts";
import { defined, type Json, type JsonObject } from "../../lib/json.ts";
import { WIRE_CODES } from "../../protocol/failure.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import { expectedAnswers } from "../../protocol/rights.ts";
import { attemptsLeft } from "./attempts.ts";
import { needsBudget } from "./budget.ts";
import { discussionReport } from "./discussion.ts";
import { isAboutLongWait, isForWorker } from "./messages.ts";
import { plansLater, plansWithoutNames } from "./planners.ts";
import { SCHEDULE_RIGHTS } from "./rights.ts";
import {
  type Allowance,
  artifactsOf,
  countsOf,
  type OpenTurn,
  type Place,
  type ScheduleState,
  type SessionValue,
  type Ticket,
} from "./state.ts";
import { hasReviewers } from "./reviewers.ts";
import { isReviewable } from "./reviewing.ts";

/**
 * Returns the request to an agent: the message, and the context that it needs to answer without memory. Texts are references. From the plan, the
 * context contains only the ticket's task and its direct dependencies, so a request does not grow with the plan.
 */
export function request(state: ReadonlyState<ScheduleState>, stamp: TurnStamp): TurnDraft {
  const session = state.session;
  const ticket = stamp.subject === undefined ? undefined : state.tickets.get(stamp.subject);
  const turn = stamp.subject === undefined ? session?.turn : ticket?.turn;
  if (!session || turn?.turn_id !== stamp.turn_id) throw new Error(`nobody holds turn ${stamp.turn_id}`);
  if (isAboutLongWait(stamp.subject, turn)) return longWaitRequest(state, session, turn);
  return {
    expects: expects(session, turn, ticket),
    message: { payload_type: turn.message, payload: message(state, session, turn, ticket) },
    context: context(state, session, turn, ticket),
    ...(turn.message === "ticket" ? { discuss: ticket?.discuss === true } : {}),
    ...(turn.message === "review_request" ? { alone: true } : {}),
    ...(turn.message === "instruction" && session.settings.merge_checks
      ? { delivers: defined({ writes: ticket?.writes }) }
      : {}),
    ...remainingTurns(ticket?.allowance),
  };
}

/** Asks the manager about a ticket that others wait for, while the ticket's own turn continues. */
function longWaitRequest(state: ReadonlyState<ScheduleState>, session: SessionValue, turn: OpenTurn): TurnDraft {
  const { ticket: id = "", record } = session.long_wait ?? {};
  return {
    expects: expects(session, turn, undefined),
    message: { payload_type: turn.message, payload: payloadOf(record) },
    context: context(state, session, turn, state.tickets.get(id)),
  };
}

/** Number of turns that the budget has left after this one, which is already counted. */
function remainingTurns(allowance: Allowance | undefined): { remaining_turns?: number } {
  if (allowance?.turns === undefined) return {};
  return { remaining_turns: Math.max(0, allowance.turns - allowance.used) };
}

function expects(session: SessionValue, { message: asked }: OpenTurn, ticket: Ticket | undefined): PayloadType[] {
  const reviewer = asked === "review_request" && hasReviewers(session) ? "participant" : "manager";
  const types = expectedAnswers(SCHEDULE_RIGHTS, isForWorker(asked) ? "worker" : reviewer, asked);
  if (!ticket) return plansLater(session) ? types.filter((type) => type !== "plan") : types;
  if (asked === "report") return types.filter((type) => type !== "plan");
  return asked === "error" && !isReviewable(ticket) ? types.filter((type) => type !== "review") : types;
}

function message(
  state: ReadonlyState<ScheduleState>,
  session: SessionValue,
  turn: OpenTurn,
  ticket: Ticket | undefined,
): Json {
  if (!ticket) return sessionMessage(state, session, turn);
  switch (turn.message) {
    case "ticket":
      return ticketPayload(ticket);
    case "instruction_proposal":
      return payloadOf(ticket.proposal);
    case "report":
      return ticket.discussed === undefined ? payloadOf(ticket.report) : discussionReport(ticket.discussed);
    case "instruction":
      return valueAt(ticket.instruction);
    case "review_request":
      return {
        ticket_id: ticket.id,
        instruction: valueAt(ticket.instruction),
        report: payloadOf(ticket.report),
        checks: ticket.check === undefined ? [] : from(ticket.check, "/results"),
        ...(ticket.check === undefined || ticket.softened === undefined
          ? {}
          : { base_tests: from(ticket.check, "/base_tests") }),
        artifacts: artifactsOf(ticket).map(payloadOf),
      };
    case "error":
      return {
        code: errorCode(ticket),
        message: `ticket ${ticket.id} is blocked (${ticket.reason ?? "unknown"}) after ${ticket.attempt} attempts; ${attemptsLeft(session.settings, ticket)} more are allowed`,
        resolution_hint: waysOut(ticket),
        ...(ticket.failure === undefined ? {} : { details: detailsOf(ticket.failure) }),
      };
    case "requirement":
    case "clarification_response":
      throw new Error(`"${turn.message}" is not about a ticket`);
  }
}

/** The answers that a manager may give about a blocked ticket. */
function waysOut(ticket: Ticket): string {
  const work = needsBudget(ticket)
    ? "its budget is spent: answer with a revised plan that gives its task a larger one"
    : "answer with a new instruction, a revised plan";
  const review = isReviewable(ticket) ? ", a review of the work as it was delivered" : "";
  return `${work}${review}, a clarification, or error to give it up`;
}

function sessionMessage(state: ReadonlyState<ScheduleState>, session: SessionValue, turn: OpenTurn): Json {
  const last = session.clarifications.at(-1);
  const set = last === undefined ? undefined : state.questions.get(last);
  if (turn.message === "clarification_response" && set) {
    const answers = set.questions.flatMap((id, index): Json[] => {
      const answer = set.answers[index];
      return answer ? [{ question_id: `${set.id}.${id}`, text: valueAt(answer) }] : [];
    });
    const { max_clarification_rounds } = session.settings;
    const settled = answers.length === set.questions.length && (turn.rounds ?? 0) < max_clarification_rounds;
    return { answers, status: settled ? "answered" : "complete" };
  }
  if (turn.message === "clarification_response") return { answers: [], status: "complete" };
  return session.requirement ? valueAt(session.requirement) : { text: "" };
}

function errorCode(ticket: Ticket): string {
  return WIRE_CODES.find((code) => code === ticket.reason) ?? "agent_failed";
}

/** The details of a failure that the schema of `error` allows. The others are in the history. */
function detailsOf(failure: number): JsonObject {
  const known = ["exit_code", "signal", "retry_at", "pointer", "rule"];
  return Object.fromEntries(known.map((name) => [name, from(failure, `/details/${name}`)]));
}

function ticketPayload(ticket: Ticket): JsonObject {
  return {
    ticket_id: ticket.id,
    task_id: ticket.id,
    status: ticket.status,
    ...defined({ owner: ticket.owner, reason: ticket.reason }),
    history: eventsOf(ticket.history ?? []),
    task: valueAt(ticket.task),
  };
}

function context(
  state: ReadonlyState<ScheduleState>,
  session: SessionValue,
  turn: OpenTurn,
  ticket: Ticket | undefined,
): JsonObject {
  const notes = [...session.notes, ...(ticket?.notes ?? [])];
  // A manager that may plan again sees its latest revision, even if it is not approved. Otherwise it would drop it unknowingly.
  const proposed = expects(session, turn, ticket).includes("plan") ? session.gate?.revision?.plan : undefined;
  const plan = proposed ?? session.plan;
  return {
    requirement: session.requirement ? from(session.requirement[0], "/text") : "",
    clarifications: clarifications(state, [...session.clarifications, ...(ticket?.clarifications ?? [])]),
    ...(plan
      ? {
          plan: { summary: from(plan[0], `${plan[1]}/summary`), counts: countsOf(state) },
          ...(session.holds_out && isForWorker(turn.message) ? {} : { plan_file: { $file: plan } }),
        }
      : {}),
    ...(ticket
      ? {
          ticket: ticketPayload(ticket),
          history: historyOf(ticket.history ?? []),
          dependencies: ticket.depends_on.map((id) => dependency(state, id)),
        }
      : {}),
    ...(!ticket && session.plans?.length ? { transcript: plansWithoutNames(session.plans) } : {}),
    ...(notes.length > 0 ? { notes: notes.map(note) } : {}),
    ...crewNotes(session, ticket),
    ...(turn.refused ? { refused: turn.refused } : {}),
  };
}

function clarifications(state: ReadonlyState<ScheduleState>, ids: readonly string[]): Json[] {
  return ids.flatMap((id) => {
    const set = state.questions.get(id);
    return set ? clarificationsIn(set) : [];
  });
}

function dependency(state: ReadonlyState<ScheduleState>, id: string): JsonObject {
  const ticket = state.tickets.get(id);
  return {
    task_id: id,
    outputs: ticket?.report === undefined ? [] : from(ticket.report, "/outputs"),
    artifacts: artifactsOf(ticket).map(payloadOf),
  };
}

/** What workers of other tickets noted. */
function crewNotes({ crew_notes = [] }: SessionValue, ticket: Ticket | undefined): JsonObject {
  const others = crew_notes.filter(({ ticket_id }) => ticket_id !== ticket?.id);
  if (others.length === 0) return {};
  return { crew_notes: others.map(({ ticket_id, at }) => ({ ticket_id, text: from(...at) })) };
}

/** A note: the text of a `tell`, or the notes of an approval. */
function note(sequence: number): Json {
  return firstOf(from(sequence, "/text"), from(sequence, "/notes"));
}

function payloadOf(sequence: number | undefined): Json {
  return sequence === undefined ? {} : from(sequence);
}

function valueAt(at: Place | undefined): JsonObject {
  return at === undefined ? {} : from(...at);
}
