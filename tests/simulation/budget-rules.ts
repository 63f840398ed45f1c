import type { JsonObject } from "../../src/lib/json.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { milliseconds } from "../../src/protocol/timestamp.ts";
import type { World } from "./world.ts";

/** How a turn fails that is given again, as the promise has it: without a word of what it took it hides nothing. Nor does one cut short by crashes. */
const HELD = new Set(["rate_limited", "authentication", "trust"]);
const DROPPED = new Set(["timeout", "idle_timeout", "agent_failed", "no_answer"]);
/** What a session may use. */
type Allowed = { readonly [K in (typeof KINDS)[number]]?: number };

interface KnownBudget {
  readonly turns?: number;
  readonly wall_s?: number;
}

const KINDS = ["turns", "tokens", "usd"] as const;

/** What is known of a ticket's budget from the log alone: never more than was used. */
interface TicketUse {
  budget: KnownBudget;
  readonly turns: Set<string>;
  isTimeUp: boolean;
}

/**
 * Whether a turn may begin by what roles, tickets and the session may use, read from the log by somebody who knows only the promise:
 * a budget is overrun by no more than is in flight.
 */
export class BudgetRules {
  readonly #world: World;
  /** Since a person last released the role: its runs, and how long those took that ended. */
  readonly #roles = new Map<string, { turns: number; wall_ms: number }>();
  /** When the runs began that have not ended, by turn. */
  readonly #begun = new Map<string, { role_id: string; at: number; slept: boolean }>();
  readonly #admissions = new Map<string, number[]>();
  readonly #tickets = new Map<string, TicketUse>();
  readonly #used = { turns: 0, tokens: 0, usd: 0 };
  /** What is kept for children that have not ended, by their ids. */
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
      // Where nothing was limited nothing was counted.
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
      run.slept = true;
    }
  }

  /** Whatever ran is over; when it ended the log does not always say. */
  interrupted(): void {
    this.#begun.clear();
  }

  /** So much is kept for a child, which has it of what is left. */
  begun({ session_id, budget }: PayloadByType["session_begun"]): void {
    this.#kept.set(session_id, budget);
    for (const kind of KINDS) this.#within(kind, `with ${session_id}`);
  }

  finished({ session_id, usage }: PayloadByType["session_finished"]): void {
    this.#kept.delete(session_id);
    this.#used.turns += usage.turns;
    this.#used.tokens += usage.input_tokens + usage.output_tokens;
    this.#used.usd += usage.cost_usd ?? 0;
    if (usage.cost_usd === null) this.#untold.usd = true;
  }

  /** What its children still use is for nobody any more. */
  closed(): void {
    this.#kept.clear();
  }

  /** What is told counts, also when it comes too late. */
  told({ usage }: LogRecord["record"]): void {
    this.#used.tokens += (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
    this.#used.usd += usage?.cost_usd ?? 0;
  }

  ended({ record, payload_type, payload }: LogRecord): void {
    const { usage, turn_id = "", received_at } = record;
    this.told(record);
    const run = this.#begun.get(turn_id);
    this.#begun.delete(turn_id);
    if (!run) return;
    const code = payload_type === "turn_failed" || payload_type === "error" ? (payload["code"] as string) : "";
    const again = HELD.has(code) || (run.slept && payload_type === "turn_failed" && DROPPED.has(code));
    const { recoveries: died } = (payload["details"] ?? {}) as JsonObject;
    if (usage || (!again && died === undefined)) {
      if (usage?.input_tokens === undefined || usage.output_tokens === undefined) this.#untold.tokens = true;
      if (usage?.cost_usd === undefined) this.#untold.usd = true;
    }
    const { turns, wall_ms } = this.#roles.get(run.role_id) ?? { turns: 0, wall_ms: 0 };
    this.#roles.set(run.role_id, { turns, wall_ms: wall_ms + milliseconds(received_at) - run.at });
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
      if (used >= most) this.#broken(`${used} ${kind} of ${most}`);
      if (this.#untold[kind]) this.#broken(`a turn after one of unknown ${kind}`);
    }
  }

  #within(kind: (typeof KINDS)[number], what: string): void {
    const most = this.#limits[kind] ?? Number.POSITIVE_INFINITY;
    // Amounts of money are sums of fractions.
    if (this.#usedOf(kind) > most + 1e-9) this.#broken(`${this.#usedOf(kind)} ${kind} of ${most}, ${what}`);
  }

  /** What was used, and what is kept for children. */
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
    if (turns !== undefined && use.turns > turns) this.#broken(`${use.turns} turns of ${role_id}, of ${turns}`);
    if (wall_s !== undefined && use.wall_ms >= wall_s * 1000)
      this.#broken(`${use.wall_ms} ms of ${role_id}, of ${wall_s} s`);
    const together = roles.filter(
      (one) => one === role || (role?.account !== undefined && one.account === role.account),
    );
    const rate = Math.min(...together.map((one) => one.rate_limit?.turns_per_minute ?? Number.POSITIVE_INFINITY));
    const key = together[0]?.role_id ?? role_id;
    const recent = [...(this.#admissions.get(key) ?? []), at].filter((one) => one > at - 60_000);
    this.#admissions.set(key, recent);
    if (recent.length > rate)
      this.#world.broken("a role keeps to its rate", `${recent.length} of ${key} in a minute, of ${rate}`);
  }

  #worksOn({ budget, turns, isTimeUp }: TicketUse, id: string, turn_id: string, message: string): void {
    const isNew = !turns.has(turn_id);
    turns.add(turn_id);
    if (message === "review_request") return;
    if (isNew && budget.turns !== undefined && turns.size > budget.turns) {
      this.#broken(`${turns.size} turns about ${id}, of ${budget.turns}`);
    }
    if (isNew && isTimeUp) this.#broken(`${message} about ${id}, whose time was up`);
  }

  #broken(seen: string): void {
    this.#world.broken("a budget is overrun by no more than is in flight", seen);
  }
}
