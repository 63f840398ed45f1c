import type { JsonObject } from "../../../src/lib/json.ts";
import type { KitState } from "../../../src/kernel/kit/state.ts";
import { type Debate, debate, type Debater } from "../../../src/modes/debate/debate.ts";
import { debateMode } from "../../../src/modes/debate/mode.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
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

type DebateState = KitState<Debate, Debater>;

/** A session of the debate mode: the kit, and the vocabulary of debaters. */
export class DebateSession extends ModeSession<DebateState> {
  /** Opens a debate about `INPUT` with the given differences. */
  constructor(input: JsonObject = {}, config: Partial<ResolvedConfiguration> = {}) {
    super(debateMode, kitRules(debate), { roles: ROLES, input: { ...INPUT, ...input }, config });
  }

  get debate(): Debate | undefined {
    return this.state.self;
  }

  /** The round that the debaters are asked in. */
  get round(): number | undefined {
    return this.debate?.round;
  }

  debater(id: string): Debater {
    const debater = this.state.subjects.get(id);
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
