import { withChanges } from "../kernel/changes.ts";
import type { Engine } from "../kernel/engine.ts";
import { type Ledger, type LedgerChild, type LedgerTurn, stampOf } from "../kernel/ledger.ts";
import type { Command, Fact } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { about } from "../protocol/recording.ts";
import { grantOf, limitReached, type LimitReached } from "./admission/limits.ts";
import { requestPayload } from "./admission/turn-request.ts";
import type { TakeChild } from "./children/child.ts";
import { Children } from "./children/children.ts";
import { Checks } from "./checks.ts";
import { waitsForPermission } from "../kernel/permissions.ts";
import type { SessionContext } from "./context.ts";
import { type Admission, Dispatcher } from "./admission/dispatcher.ts";
import { Seats } from "./admission/seats.ts";
import { Timers } from "./time/timers.ts";
import { Turns } from "./turns/turns.ts";

/** The commands that begin, end or delay work; the session carries out the others itself. */
type WorkCommand = Exclude<Command, { do: "stop_session" | "finish" }>;

/** The work of a session: offered and running turns, checks, child sessions and timers. */
export class Workload {
  readonly timers: Timers;
  readonly children: Children;
  readonly #context: SessionContext;
  readonly #dispatcher: Dispatcher;
  readonly #turns: Turns;
  readonly #checks: Checks;
  /** Offered turns whose subject's checks were cancelled and have not ended yet. */
  readonly #behindChecks = new Set<string>();

  /** `wake` is called when a timer is due or a hold has ended. */
  constructor(context: SessionContext, takeChild: TakeChild, wake: () => void) {
    this.#context = context;
    this.timers = new Timers(context.ledger, context.clock, wake);
    const over = (id: string) => this.#over(id);
    this.#turns = new Turns(context, over);
    this.#checks = new Checks(context, over);
    this.children = new Children(context, takeChild);
    const { max_workers } = context.config;
    const capacity = { worker: max_workers, participant: max_workers, manager: Number.POSITIVE_INFINITY };
    this.#dispatcher = new Dispatcher(new Seats(context.roles, capacity, (role_id) => this.timers.isHeld(role_id)));
    for (const turn of this.#ledger.turns.values()) if (turn.status === "offered") this.#dispatcher.offer(turn);
  }

  get #ledger(): Ledger {
    return this.#context.ledger;
  }

  /** The number of running agents, including those of child sessions. */
  get running(): number {
    return this.#turns.count + this.children.running;
  }

  /** Whether an agent, a check or a child session runs. */
  get isBusy(): boolean {
    return this.#turns.count > 0 || this.#checks.count > 0 || this.children.count > 0;
  }

  /** Whether agents run that all wait for a permission, and nothing else runs. */
  get onlyWaits(): boolean {
    return this.#turns.onlyWait && this.#checks.count === 0 && this.children.count === 0;
  }

  /** Whether any work runs, or will once its request is durable. */
  get isUnderWay(): boolean {
    return this.isBusy || this.#dispatcher.running > 0 || this.children.isAnyBegun;
  }

  /** Continues what an earlier scheduler began. */
  begin(waitForPeople: boolean): void {
    this.children.begin(waitForPeople);
    this.#turns.forPeople = waitForPeople;
    for (const checks of this.#ledger.checks.values()) this.#checks.start(checks);
    this.timers.arm();
  }

  /** Whether a turn is offered that the role could take. */
  wants(role_id: string): boolean {
    return this.#dispatcher.wants(role_id);
  }

  carryOut(command: WorkCommand): void {
    switch (command.do) {
      case "offer_turn":
      case "repeat_turn":
        this.offer(command.turn_id);
        return;
      case "withdraw_turn":
        if (this.#dispatcher.hasAdmitted(command.turn_id))
          this.#context.afterCommit(() => this.#turns.abort(command.turn_id, command.reason));
        else this.#dispatcher.end(command.turn_id);
        return;
      case "set_timer":
        this.#context.afterCommit(() => this.timers.at(command.due_at));
        return;
      case "run_checks":
        this.#context.afterCommit(() => this.#checks.start(command));
        return;
      case "drop_checks":
        this.#context.afterCommit(() => this.#checks.abort(command.check_id));
        return;
      case "fail_turn":
        this.#fail(command);
        return;
      case "clear_ask":
      case "clear_timer":
      case "open_session":
        // Only the ledger follows these. `admit` begins a child session when the limits allow, like a turn.
        return;
      case "withdraw_session":
        this.#context.afterCommit(() => this.children.cancel(command.child, command.reason));
        return;
      case "ask":
        if (command.permission) this.#dispatcher.lend(command.permission.turn_id);
        return;
      case "permit":
        if (!waitsForPermission(this.#ledger, command.turn_id)) this.#dispatcher.proceed(command.turn_id);
        this.#context.afterCommit(() => this.#turns.permit(command.ask_id, command));
    }
  }

  /** Tells a person's note to running turns: see `Turns`. */
  tell(fact: Fact): readonly string[] | undefined {
    return this.#turns.tell(fact);
  }

  /** Offers a turn. It waits while checks of its subject still run, so that neither disturbs the other. */
  offer(turn_id: string): void {
    const turn = this.#ledger.turns.get(turn_id);
    if (!turn) return;
    if (turn.subject !== undefined && this.#checks.areUnderWay(turn.subject)) this.#behindChecks.add(turn_id);
    else this.#dispatcher.offer(turn);
  }

  #fail({ turn_id, code, message }: Extract<Command, { do: "fail_turn" }>): void {
    const turn = this.#ledger.turns.get(turn_id);
    if (!turn) return;
    const payload = { turn_id, code, message, refused: [] };
    const { subject } = turn;
    this.#context.submit({ source: "scheduler", payload_type: "turn_failed", payload, subject, turn: stampOf(turn) });
  }

  /** Frees the dispatcher's seat of a turn that a fact has ended. `before` is the ledger's turn before that fact. */
  settle(before: LedgerTurn | undefined): void {
    if (!before) return;
    const after = this.#ledger.turns.get(before.turn_id);
    if (after?.status === "open") return;
    this.#dispatcher.end(before.turn_id);
    if (after) this.#dispatcher.offer(after);
  }

  /** Called when a turn's agent or a check is gone. Only now is the seat of a withdrawn turn free. */
  #over(id: string): void {
    // A held turn has already been offered again, and waits.
    if (this.#dispatcher.hasAdmitted(id) && this.#ledger.turns.get(id)?.status !== "open") this.#dispatcher.end(id);
    const waiting = [...this.#behindChecks];
    this.#behindChecks.clear();
    for (const turn_id of waiting) this.offer(turn_id);
    this.#context.schedule();
  }

  /**
   * Records the start of every child session and turn that may begin now; they start after the commit. `began` is the reading of the monotonic
   * clock when the scheduler began. Returns the limit that forbids the next one, if any.
   */
  admit<S>(engine: Engine<S>, began: number): LimitReached | undefined {
    const { ledger, config, clock } = this.#context;
    const awake_ms = clock.monotonic() - began;
    for (const child of [...ledger.children.values()].filter(({ status }) => status === "offered")) {
      const limit = limitReached(ledger, config, awake_ms);
      if (limit) return limit;
      this.#beginChild(child, awake_ms);
    }
    for (let next = this.#dispatcher.admit(); next; next = this.#dispatcher.admit()) {
      const limit = limitReached(ledger, config, awake_ms);
      if (limit) {
        this.#dispatcher.end(next.turn.turn_id);
        this.#dispatcher.offer(next.turn);
        return limit;
      }
      this.#beginTurn(engine, next);
    }
    return undefined;
  }

  #beginChild({ child, mode, subject, budget: asked }: LedgerChild, awake_ms: number): void {
    const { ledger, config } = this.#context;
    const budget = { ...grantOf(ledger, config, awake_ms, asked) };
    const payload = { session_id: this.children.idOf(child), ...about(subject), mode, budget };
    this.#context.submit({ source: "scheduler", payload_type: "session_begun", payload, subject });
    this.#context.afterCommit(() => {
      crashPoint("child_begun");
      this.children.start(child);
    });
  }

  #beginTurn<S>({ mode, state }: Engine<S>, admission: Admission): void {
    const { turn, role } = admission;
    const stamp = stampOf(turn);
    const draft = withChanges(mode.request(state, stamp), this.#context.ledger, stamp.subject);
    const payload = requestPayload(this.#context, draft, admission);
    const at = this.#context.clock.now();
    const { subject } = turn;
    const target = role.role_id;
    this.#context.submit({
      at,
      source: "scheduler",
      target,
      payload_type: "turn_request",
      payload,
      subject,
      turn: stamp,
    });
    this.#context.afterCommit(() => this.#turns.start(admission, payload, at));
  }

  abortAll(): void {
    this.timers.stop();
    this.#turns.abortAll();
    this.#checks.abortAll();
    this.children.abortAll();
  }

  /** Ends all work of a closed session, including children that an earlier stop left open. */
  closeAll(): void {
    this.abortAll();
    this.children.closeLeft();
  }

  /** Resolves when no agent, check or child session runs any more. */
  async idle(): Promise<void> {
    await Promise.all([this.#turns.idle(), this.#checks.idle(), this.children.idle()]);
  }
}
