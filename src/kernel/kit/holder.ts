import { defined, type Json } from "../../lib/json.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Ledger } from "../ledger.ts";
import type { Command, Fact, OfferTurn } from "../mode.ts";
import type { Patch } from "../step.ts";
import type { StepWriter } from "./step-writer.ts";

/** How often a message was sent before, and why its last answer was refused. */
export interface Tries {
  /** Number of times that the message was sent before, counting failed turns and refused answers. */
  readonly retries: number;
  /** Why the previous answer was refused; sent as `context.refused`. */
  readonly refused?: readonly Json[];
  /** Number of rounds of questions that this message has led to. */
  readonly rounds?: number | undefined;
  /** Set in modes whose prompts show records: the last one when the message was first sent. Those who are asked at once answer independently. */
  readonly as_of?: number | undefined;
}

/** A message that will be sent again, with the counts of its next turn. `M` are the messages of the mode. */
export interface PutAgain<M extends PayloadType = PayloadType> extends Tries {
  readonly message: M;
}

/** A turn that is offered or open. */
export interface OpenTurn<M extends PayloadType = PayloadType> extends PutAgain<M> {
  readonly turn_id: string;
}

/**
 * Who can be asked: a subject, or the session itself for messages about no subject. It holds a turn, or waits for something and then gets its message
 * again, or neither.
 */
export interface Holder<M extends PayloadType = PayloadType> {
  readonly turn?: OpenTurn<M>;
  /** What it waits for: `RESUME`, or the id of a retry timer, an ask, checks or a child session. */
  readonly waits_for?: string;
  readonly put_again?: PutAgain<M>;
  /** The sequences of the notes that a person sent. */
  readonly notes?: readonly number[];
}

/** A step, as far as it writes to holders. The session itself has no id. */
export interface Holders<M extends PayloadType = PayloadType> {
  readonly out: StepWriter;
  holder(id: string | undefined): Holder<M> | undefined;
  patchHolder(id: string | undefined, patch: Patch<Holder<M>>): void;
}

/** Offers a turn with a message. */
export function offerTurn(
  holders: Holders,
  id: string | undefined,
  message: PutAgain,
  offered: Omit<OfferTurn, "do" | "turn_id">,
): void {
  const turn_id = holders.out.nextTurn();
  const turn = { turn_id, ...counted(message) };
  holders.patchHolder(id, { turn, waits_for: undefined, put_again: undefined });
  holders.out.command({ do: "offer_turn", turn_id, ...offered });
}

/** Removes the turn that a fact ends from its holder. Returns undefined if the fact ends none. */
export function endedTurn<M extends PayloadType>(holders: Holders<M>, fact: Fact): OpenTurn<M> | undefined {
  const turn = holders.holder(fact.subject)?.turn;
  if (!turn || turn.turn_id !== fact.turn?.turn_id) return undefined;
  holders.patchHolder(fact.subject, { turn: undefined });
  return turn;
}

/** Keeps a message until `waits_for` comes. */
export function putAgainLater(holders: Holders, id: string | undefined, waits_for: string, message: PutAgain): void {
  holders.patchHolder(id, { turn: undefined, waits_for, put_again: counted(message) });
}

/** Keeps a message until a back-off has passed. */
export function retryLater(holders: Holders, id: string | undefined, message: PutAgain, delay_ms: number): void {
  putAgainLater(holders, id, retryTimer(id), message);
  holders.out.setTimer(retryTimer(id), delay_ms);
}

/** Withdraws the turn, or ends what is waited for. */
export function withdraw(holders: Holders, id: string | undefined, reason: string): void {
  const { turn, waits_for } = holders.holder(id) ?? {};
  if (turn) holders.out.command({ do: "withdraw_turn", turn_id: turn.turn_id, reason });
  for (const command of waits_for === undefined ? [] : endWaiting(waits_for, reason)) holders.out.command(command);
  if (turn ?? waits_for) holders.patchHolder(id, { turn: undefined, waits_for: undefined, put_again: undefined });
}

/** A message with its counts alone, without those that say nothing. */
export function counted({ message, retries, refused = [], rounds, as_of }: PutAgain): PutAgain {
  return { message, retries, ...(refused.length > 0 ? { refused } : {}), ...defined({ rounds, as_of }) };
}

/** `waits_for` of a message that is sent again when the session is resumed. */
export const RESUME = "resume";

const RETRY = "retry:";

/** The id of the back-off timer of a subject, or of the session if `id` is absent. */
export function retryTimer(id: string | undefined): string {
  return RETRY + (id ?? "");
}

/** The subject whose back-off a timer ends, `undefined` for the session; `null` for another timer. */
export function retriedBy(timer_id: string): string | undefined | null {
  return timer_id.startsWith(RETRY) ? timer_id.slice(RETRY.length) || undefined : null;
}

/** `waits_for` of a holder that waits for a child session. */
export function waitingForSession(child: string): string {
  return `s${child}`;
}

/** The child session in `waits_for`; undefined if it names something else. */
export function sessionWaitedFor(waits_for: string | undefined): string | undefined {
  return waits_for?.startsWith("s") ? waits_for.slice(1) : undefined;
}

/** The prefix of the timers of the mode's own. */
export const MODE_TIMER = "timer:";

/** Whether a mode waits for outsiders: it has a passive timer of its own. Its scheduler may leave meanwhile. */
export function waitsForOutsiders({ timers }: Pick<Ledger, "timers">): boolean {
  for (const [id, { passive }] of timers) if (passive === true && id.startsWith(MODE_TIMER)) return true;
  return false;
}

/** Whether `waits_for` names checks. */
export function waitsForChecks(waits_for: string | undefined): boolean {
  return waits_for?.startsWith("k") === true;
}

/** The commands that end what is waited for: a timer, checks, a child session, or else an ask. */
function endWaiting(waits_for: string, reason: string): Command[] {
  if (waits_for === RESUME) return [];
  if (waits_for.startsWith(RETRY)) return [{ do: "clear_timer", timer_id: waits_for }];
  if (waitsForChecks(waits_for)) return [{ do: "drop_checks", check_id: waits_for }];
  const child = sessionWaitedFor(waits_for);
  return [child === undefined ? { do: "clear_ask", ask_id: waits_for } : { do: "withdraw_session", child, reason }];
}
