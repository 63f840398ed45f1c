import type { JsonObject } from "../../src/lib/json.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { milliseconds } from "../../src/protocol/timestamp.ts";
import type { World } from "./world.ts";

/** Failures after which a turn is repeated. Without usage, they hide nothing; nor does a run that was cut short by a crash. */
const HELD = new Set(["rate_limited", "authentication", "trust", "unavailable"]);
const DROPPED = new Set(["timeout", "idle_timeout", "agent_failed", "no_answer"]);
/** What a session may use. */
type Allowed = { readonly [K in (typeof KINDS)[number]]?: number };

interface KnownBudget {
  readonly turns?: number;
  readonly wall_s?: number;
}

const KINDS = ["turns", "tokens", "usd"] as const;

/** A ticket's use of its budget, as far as the log shows: never more than was really used. */
interface TicketUse {
  budget: KnownBudget;
  readonly turns: Set<string>;
  isTimeUp: boolean;
}

/**
 * Checks budgets by the log alone: no turn begins if a role, a ticket or the session has no budget left, so a budget is overrun by no more
 * than the turns in flight.
 */
export class BudgetRules {
  readonly #world: World;
  /** By role: its runs and their time since a person last released it. */
  readonly #roles = new Map<string, { turns: number; wall_ms: number }>();
  /** By turn: when its open run began. */
  readonly #begun = new Map<string, { role_id: string; at: number; slept: boolean; waits?: number }>();
  /** By its id: the turn that waits for a permission. */
  readonly #waiting = new Map<unknown, string>();
  readonly #admissions = new Map<string, number[]>();
  readonly #tickets = new Map<string, TicketUse>();
  readonly #used = { turns: 0, tokens: 0, usd: 0 };
  /** By child: what is reserved for it until it ends. */
  readonly #kept = new Map<string, Allowed>();
  readonly #untold = { tokens: false, usd: false };
  #limits: Allowed = {};
  #ofTickets: KnownBudget = {};

  constructor(world: World) {
    this.#world = world;
  }

  opened({ budget }: ResolvedConfiguration): void {
    this.#ofTickets = budget.ticket ?? {};
    this.#limits = { ...budget };
  }

  limited(limits: Allowed = {}): void {
    this.#limits = { ...this.#limits, ...limits };
    if (limits.tokens !== undefined) this.#untold.tokens = false;
    if (limits.usd !== undefined) this.#untold.usd = false;
  }

  planned(tasks: readonly JsonObject[]): void {
    for (const task of tasks) {
      const id = task["task_id"] as string;
      const budget = { ...this.#ofTickets, ...(task["budget"] as KnownBudget | undefined) };
      const known = this.#tickets.get(id);
      // Use is counted only where it is limited.
      const turns = known && Object.keys(known.budget).length > 0 ? known.turns : new Set<string>();
      this.#tickets.set(id, { budget, turns, isTimeUp: false });
    }
  }

  commanded({ command, role_id, ticket_id }: JsonObject): void {
    if (command === "release") this.#roles.delete(role_id as string);
    const ticket = this.#tickets.get(ticket_id as string);
    if (command !== "retry" || !ticket) return;
    ticket.turns.clear();
    ticket.isTimeUp = false;
  }

  fired(timer_id: string): void {
    const ticket = timer_id.startsWith("budget:") ? this.#tickets.get(timer_id.slice("budget:".length)) : undefined;
    if (ticket) ticket.isTimeUp = ticket.budget.wall_s !== undefined;
  }

  slept(ms: number): void {
    for (const run of this.#begun.values()) {
      run.at += ms;
      if (run.waits !== undefined) run.waits += ms;
      run.slept = true;
    }
  }

  /** All runs are over. The log does not always say when they ended. */
  interrupted(): void {
    this.#begun.clear();
    this.#waiting.clear();
  }

  /** Reserves a part of what is left for a child. */
  begun({ session_id, budget }: PayloadByType["session_begun"]): void {
    this.#kept.set(session_id, budget);
    for (const kind of KINDS) this.#within(kind, `with ${session_id}`);
  }

  finished({ session_id, usage }: PayloadByType["session_finished"]): void {
    this.#kept.delete(session_id);
    this.#used.turns += usage.turns;
    this.#used.tokens += (usage.input_tokens ?? 0) + (usage.output_tokens ?? 0);
    this.#used.usd += usage.cost_usd ?? usage.told_usd ?? 0;
    if (usage.cost_usd === null) this.#untold.usd = true;
  }

  /** Ends the reservations. */
  closed(): void {
    this.#kept.clear();
  }

  /** Adds told usage, even if it is late. */
  countUsage({ usage }: LogRecord["record"]): void {
    this.#used.tokens += (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
    this.#used.usd += usage?.cost_usd ?? 0;
  }

  /** A turn waits for a permission: its time stands still. */
  waits({ payload, record: { turn_id = "", received_at } }: LogRecord): void {
    const run = this.#begun.get(turn_id);
    if (run) run.waits ??= milliseconds(received_at);
    this.#waiting.set(payload["ask_id"], turn_id);
  }

  /** A permission is decided. */
  decided({ payload, record: { received_at } }: LogRecord): void {
    const turn_id = this.#waiting.get(payload["ask_id"]) ?? "";
    this.#waiting.delete(payload["ask_id"]);
    const run = this.#begun.get(turn_id);
    if (run?.waits === undefined || [...this.#waiting.values()].includes(turn_id)) return;
    run.at += milliseconds(received_at) - run.waits;
    delete run.waits;
  }

  ended({ record, payload_type, payload }: LogRecord): void {
    const { usage, turn_id = "", received_at } = record;
    this.countUsage(record);
    const run = this.#begun.get(turn_id);
    this.#begun.delete(turn_id);
    if (!run) return;
    const code = payload_type === "turn_failed" || payload_type === "error" ? (payload["code"] as string) : "";
    const again = HELD.has(code) || (run.slept && payload_type === "turn_failed" && DROPPED.has(code));
    const { recoveries: died, cut_off } = (payload["details"] ?? {}) as JsonObject;
    // A run that a stop cut off could not report all.
    if (cut_off !== true && (usage || (!again && died === undefined))) {
      if (usage?.input_tokens === undefined || usage.output_tokens === undefined) this.#untold.tokens = true;
      if (usage?.cost_usd === undefined) this.#untold.usd = true;
    }
    const { turns: before, wall_ms } = this.#roles.get(run.role_id) ?? { turns: 0, wall_ms: 0 };
    // A run that an outage ended spends no budget of turns.
    const turns = Math.max(0, before - (code === "unavailable" ? 1 : 0));
    if (code === "unavailable") this.#used.turns -= 1;
    this.#roles.set(run.role_id, { turns, wall_ms: wall_ms + (run.waits ?? milliseconds(received_at)) - run.at });
  }

  requested({ record, payload }: LogRecord): void {
    const { turn_id = "", ticket_id, received_at } = record;
    const at = milliseconds(received_at);
    this.#begins(payload["role_id"] as string, at);
    this.#begun.set(turn_id, { role_id: payload["role_id"] as string, at, slept: false });
    const { payload_type: message } = payload["message"] as { payload_type: string };
    const ticket = this.#tickets.get(ticket_id ?? "");
    if (ticket && message !== "error") this.#worksOn(ticket, ticket_id ?? "", turn_id, message);
    this.#used.turns += 1;
    this.#within("turns", "with this turn");
    for (const kind of ["tokens", "usd"] as const) {
      const most = this.#limits[kind];
      if (most === undefined) continue;
      const used = this.#usedOf(kind);
      if (used >= most) this.#violated(`${used} ${kind} of ${most}`);
      if (this.#untold[kind]) this.#violated(`a turn after one of unknown ${kind}`);
    }
  }

  #within(kind: (typeof KINDS)[number], what: string): void {
    const most = this.#limits[kind] ?? Number.POSITIVE_INFINITY;
    // Sums of money are sums of fractions.
    if (this.#usedOf(kind) > most + 1e-9) this.#violated(`${this.#usedOf(kind)} ${kind} of ${most}, ${what}`);
  }

  /** What was used, and what is reserved for children. */
  #usedOf(kind: (typeof KINDS)[number]): number {
    return [...this.#kept.values()].reduce((sum, kept) => sum + (kept[kind] ?? 0), this.#used[kind]);
  }

  #begins(role_id: string, at: number): void {
    const { roles } = this.#world.scenario;
    const role = roles.find((one) => one.role_id === role_id);
    const use = this.#roles.get(role_id) ?? { turns: 0, wall_ms: 0 };
    use.turns += 1;
    this.#roles.set(role_id, use);
    const { turns, wall_s } = role?.budget ?? {};
    if (turns !== undefined && use.turns > turns) this.#violated(`${use.turns} turns of ${role_id}, of ${turns}`);
    if (wall_s !== undefined && use.wall_ms >= wall_s * 1000)
      this.#violated(`${use.wall_ms} ms of ${role_id}, of ${wall_s} s`);
    const together = roles.filter(
      (one) => one === role || (role?.account !== undefined && one.account === role.account),
    );
    const rate = Math.min(...together.map((one) => one.rate_limit?.turns_per_minute ?? Number.POSITIVE_INFINITY));
    const key = together[0]?.role_id ?? role_id;
    const recent = [...(this.#admissions.get(key) ?? []), at].filter((one) => one > at - 60_000);
    this.#admissions.set(key, recent);
    if (recent.length > rate)
      this.#world.violated("a role keeps to its rate", `${recent.length} of ${key} in a minute, of ${rate}`);
  }

  #worksOn({ budget, turns, isTimeUp }: TicketUse, id: string, turn_id: string, message: string): void {
    const isNew = !turns.has(turn_id);
    turns.add(turn_id);
    if (message === "review_request") return;
    if (isNew && budget.turns !== undefined && turns.size > budget.turns) {
      this.#violated(`${turns.size} turns about ${id}, of ${budget.turns}`);
    }
    if (isNew && isTimeUp) this.#violated(`${message} about ${id}, whose time was up`);
  }

  #violated(seen: string): void {
    this.#world.violated("a budget is overrun by no more than is in flight", seen);
  }
}
