import type { JsonObject } from "../../../src/lib/json.ts";
import { debateLifecycle } from "../../../src/modes/debate/debate.machine.ts";
import { debaterLifecycle, type DebaterEvent, type DebaterStatus } from "../../../src/modes/debate/debater.machine.ts";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import type { Debate, Debater, DebateState } from "../../../src/modes/debate/state.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { holds, type ModeRules, same } from "../invariants.ts";
import { ModeSession } from "../kit.ts";

/** Not in alphabetical order, in which rows are loaded: that order must decide nothing. */
export const DEBATERS = ["python", "go", "architect"] as const;

/** The judge's turn is about no debater. */
export const JUDGE = undefined;

const ROLES: readonly Role[] = [
  ...[...DEBATERS, "judge"].map((role_id) => ({ role_id, type: "participant" as const, backend: "scripted" as const })),
  { role_id: "boss", type: "manager", backend: "scripted" },
  { role_id: "hand", type: "worker", backend: "scripted" },
];

const INPUT = { topic: "Python or Go?", debaters: [...DEBATERS], judge: "judge", rounds: 2 };

const DEBATE_RULES: ModeRules<DebateState> = {
  created: ["seated", debaterLifecycle.initial],
  next: (from, event) => debaterLifecycle.next(from as DebaterStatus, event as DebaterEvent),
  check({ state: { debate, debaters }, ledger }) {
    const holders = [...debaters.values(), ...(debate ? [debate.judge] : [])];
    const turns = holders.flatMap(({ turn }) => turn?.turn_id ?? []);
    same([...ledger.turns.keys()].sort(), turns.sort(), "the turns in the ledger");
    const timers = [...debaters.values()].filter((one) => one.put_again).map(({ id }) => `retry:${id}`);
    if (debate?.judge.put_again?.waits_for === "timer") timers.push("retry:");
    const alarms = [...ledger.timers].flatMap(([id, { passive }]) => (passive ? [] : [id]));
    same(alarms.sort(), timers.sort(), "the timers in the ledger");
    const { closed, stopping, stopped } = ledger.figures;
    const isClosed = debate === undefined || debateLifecycle.next(debate.phase, "finished") === undefined;
    same(closed !== undefined, isClosed, "whether the session is closed");
    const isOpen = turns.length + timers.length > 0;
    holds(isOpen || closed || stopping || stopped, "nothing is open, but the debate goes on");
  },
};

/** A session of the debate mode: the kit, and the vocabulary of debaters. */
export class DebateSession extends ModeSession<DebateState> {
  /** Opens a debate about `INPUT` with the given differences. */
  constructor(input: JsonObject = {}, config: Partial<ResolvedConfiguration> = {}) {
    super(debateMode, DEBATE_RULES, { roles: ROLES, input: { ...INPUT, ...input }, config });
  }

  get debate(): Debate | undefined {
    return this.state.debate;
  }

  /** The round that the debaters are asked in. */
  get round(): number | undefined {
    return this.debate?.round;
  }

  debater(id: string): Debater {
    const debater = this.state.debaters.get(id);
    if (!debater) throw new Error(`there is no debater ${id}`);
    return debater;
  }

  /** What a debater or the judge is asked, with the recorded texts. */
  asked(id: string | undefined): PayloadByType["turn_request"] {
    return this.resolved(this.draft(id)) as PayloadByType["turn_request"];
  }

  /** The positions that a debater or the judge is told, in order. */
  told(id: string | undefined): unknown[] {
    return (this.asked(id).context.transcript ?? []).map(({ payload }) => payload["position"]);
  }

  opinion(id: string, position = "Mine.", more: JsonObject = {}): this {
    return this.answer(id, "opinion", { round: this.round ?? 0, position, ...more });
  }

  /** Every debater that is asked gives an opinion, in this order. */
  everyOpinion(more: JsonObject = {}, order: readonly string[] = DEBATERS): this {
    const { round } = this;
    for (const id of order) {
      if (this.debater(id).status === "answering") this.opinion(id, `${id} in round ${round}`, more);
    }
    return this;
  }

  verdict(more: JsonObject = {}): this {
    return this.answer(JUDGE, "verdict", { conclusion: "Go.", ...more });
  }
}

/** A debate of one round whose opinions have been given. */
export function judging(config: Partial<ResolvedConfiguration> = {}): DebateSession {
  return new DebateSession({ rounds: 1 }, config).everyOpinion();
}
