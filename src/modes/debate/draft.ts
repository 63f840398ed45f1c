import type { Change, Command, Fact, ReadonlyState, Seat, Step } from "../../kernel/mode.ts";
import { EventRefused, notPermitted, type Patch, patched, turnId } from "../../kernel/step.ts";
import { defined, type Json } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import type { Effect } from "../../protocol/recording.ts";
import { later } from "../../protocol/timestamp.ts";
import { type DebateEvent, debateLifecycle } from "./debate.machine.ts";
import { type DebaterEvent, debaterLifecycle } from "./debater.machine.ts";
import type { Debate, Debater, DebateState, Judge, OpenTurn, Try } from "./state.ts";

/** The id of the back-off timer of a debater, or of the judge if `id` is absent. */
export function retryTimer(id: string | undefined): string {
  return `retry:${id ?? ""}`;
}

/** A step under construction. Reads see earlier writes. */
export class Draft {
  readonly fact: Fact;
  readonly #changes: Change[] = [];
  readonly #effects: Effect[] = [];
  readonly #commands: Command[] = [];
  readonly #debaters: Map<string, Debater>;
  #debate: Debate | undefined;
  #refused: Failure | undefined;
  #turns = 0;

  constructor(state: ReadonlyState<DebateState>, fact: Fact) {
    this.fact = fact;
    this.#debate = state.debate;
    this.#debaters = new Map(state.debaters);
  }

  get isOpen(): boolean {
    return this.#debate !== undefined;
  }

  get debate(): Debate {
    if (!this.#debate) throw new EventRefused("the debate has not been opened");
    return this.#debate;
  }

  debater(id: string): Debater | undefined {
    return this.#debaters.get(id);
  }

  /** Every debater in the order of the input. */
  all(): Debater[] {
    return this.debate.order.flatMap((id) => this.#debaters.get(id) ?? []);
  }

  /** The debaters that were not dropped, in the order of the input. */
  seated(): Debater[] {
    return this.all().filter((debater) => debater.status !== "dropped");
  }

  putDebate(debate: Debate): void {
    this.#debate = debate;
    this.#changes.push({ put: "debate", id: "debate", value: debate as unknown as Json });
  }

  patchDebate(patch: Patch<Debate>): void {
    this.putDebate(patched(this.debate, patch));
  }

  patchJudge(patch: Patch<Judge>): void {
    this.patchDebate({ judge: patched(this.debate.judge, patch) });
  }

  putDebater(debater: Debater): void {
    this.#debaters.set(debater.id, debater);
    this.#changes.push({ put: "debater", id: debater.id, value: debater as unknown as Json });
  }

  patchDebater(id: string, patch: Patch<Debater>): void {
    const debater = this.debater(id);
    if (!debater) throw new EventRefused(`there is no debater "${id}"`);
    this.putDebater(patched(debater, patch));
  }

  /** The debater, or the judge if `id` is absent. */
  asked(id: string | undefined): Debater | Judge | undefined {
    return id === undefined ? this.debate.judge : this.debater(id);
  }

  patchAsked(id: string | undefined, patch: Patch<Pick<Judge, "turn" | "put_again">>): void {
    if (id === undefined) this.patchJudge(patch);
    else this.patchDebater(id, patch);
  }

  seat(id: string): void {
    this.putDebater({ id, status: debaterLifecycle.initial, since: this.fact.received_at, opinions: [] });
    this.#effects.push({ subject: id, from: null, event: "seated", to: debaterLifecycle.initial });
  }

  /** Applies an event to a debater's state machine, and records the effect. */
  move(id: string, event: DebaterEvent, reason?: string): void {
    const debater = this.debater(id);
    if (!debater) throw new EventRefused(`there is no debater "${id}"`);
    const { status: from } = debater;
    const to = debaterLifecycle.next(from, event);
    if (to === undefined) throw new EventRefused(`the debater "${id}" is ${from}, which does not accept "${event}"`);
    this.#effects.push({ subject: id, from, event, to, ...defined({ reason }) });
    this.patchDebater(id, { status: to, since: this.fact.received_at, reason });
  }

  moveDebate(event: DebateEvent): void {
    const to = debateLifecycle.next(this.debate.phase, event);
    if (to === undefined)
      throw new EventRefused(`the debate is ${this.debate.phase}, which does not accept "${event}"`);
    this.patchDebate({ phase: to });
  }

  /** Offers a turn to a debater, or to the judge if `id` is absent. */
  offer(id: string | undefined, { retries, refused }: Try = { retries: 0 }): void {
    this.#turns += 1;
    const turn_id = turnId(this.fact, this.#turns);
    const turn: OpenTurn = { turn_id, retries, ...(refused?.length ? { refused } : {}) };
    if (id !== undefined && this.debater(id)?.status !== "answering") this.move(id, "asked");
    this.patchAsked(id, { turn, put_again: undefined });
    const { role_id, type } = this.debate.judge;
    const seat: Seat = id === undefined ? { type, role_id } : { type: "participant", role_id: id };
    this.#commands.push({
      do: "offer_turn",
      turn_id,
      seat,
      ...defined({ subject: id }),
      priority: 1,
      attempt: retries + 1,
    });
  }

  /** Withdraws the turn or the timer of a debater, or of the judge if `id` is absent. */
  withdraw(id: string | undefined, reason: string): void {
    const asked = this.asked(id);
    if (asked?.turn) this.command({ do: "withdraw_turn", turn_id: asked.turn.turn_id, reason });
    if (asked?.put_again?.waits_for === "timer") this.command({ do: "clear_timer", timer_id: retryTimer(id) });
    if (asked?.turn ?? asked?.put_again) this.patchAsked(id, { turn: undefined, put_again: undefined });
  }

  setTimer(timer_id: string, delay_ms: number): void {
    this.#commands.push({ do: "set_timer", timer_id, due_at: later(this.fact.received_at, delay_ms) });
  }

  command(command: Command): void {
    this.#commands.push(command);
  }

  refuse(why: Failure): void {
    this.#refused = why;
  }

  /** Refuses what the state does not allow, and says what to do instead. */
  forbid(message: string, hint: string): void {
    this.refuse(notPermitted(message, hint));
  }

  step(): Step {
    return {
      changes: this.#changes,
      envelopes: [],
      effects: this.#effects,
      commands: this.#commands,
      ...defined({ refused: this.#refused }),
    };
  }
}
