import type { KitState } from "../../../src/kernel/kit/state.ts";
import { viewOf } from "../../../src/kernel/kit/state.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { council } from "../../../src/modes/council/council.ts";
import { type Council, type Participant, stateOf } from "../../../src/modes/council/state.ts";
import { councilMode } from "../../../src/modes/council/mode.ts";
import type { PayloadType, ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";

export const ROLES: readonly Role[] = ["ann", "bob", "cid"].map((role_id) => ({
  role_id,
  type: "participant",
  backend: "scripted",
}));
export const CHAIR: Role = { role_id: "chair", type: "manager", backend: "scripted" };

/** The digest of somebody's token; `tries` counts how often it joined. */
export function keyOf(id: string, tries = 1): string {
  return `sha256:${Buffer.from(`${id}${tries}`).toString("hex").padEnd(64, "0").slice(0, 64)}`;
}

/** A session of the council mode, by default of three roles and nobody from outside. */
export class CouncilSession extends ModeSession<KitState<Council, Participant>> {
  constructor(input: JsonObject = {}, config: Partial<ResolvedConfiguration> = {}, roles: readonly Role[] = ROLES) {
    const participants = roles.filter(({ role_id }) => role_id !== "chair").map(({ role_id }) => role_id);
    const given = { topic: "Which store?", participants, ...input };
    super(councilMode, kitRules(council), { roles, input: given, config });
  }

  /** Somebody from outside acts, by its token. */
  as(id: string, payload_type: PayloadType, payload: JsonObject, key: string = keyOf(id)): this {
    const actor = { user: "ada", host: "h", via: "cli", participant: id, key };
    return this.submit("user", payload_type, payload, { actor });
  }

  join(...ids: readonly string[]): this {
    for (const id of ids) this.send("participant", { agent_id: id, status: "joined", token_sha256: keyOf(id) });
    return this;
  }

  /** The local user calls the vote. */
  callVote(): this {
    return this.send("state_change", { new_state: "voting", reason: "Enough." });
  }

  propose(title = "Keep it"): this {
    return this.send("proposal", { title, details: `${title}, as it is.` });
  }

  votes(id: string, vote: string, proposal_id = "p1", more: JsonObject = {}): this {
    return this.as(id, "vote", { proposal_id, vote, ...more });
  }

  /** A role answers in its turn. */
  says(id: string, text = `${id} says so.`): this {
    return this.answer(id, "comment", { text });
  }

  get self(): Council {
    const { self } = this.state;
    if (!self) throw new Error("the council is not open");
    return self;
  }

  /** The state of the council, and of its proposals. */
  get standings(): string[] {
    return [
      stateOf(this.self),
      ...this.self.proposals.map(({ id, status, tied }) => `${id} ${tied ? "tied" : status}`),
    ];
  }

  get members(): string[] {
    return [...this.state.subjects.values()].map(({ id, status }) => `${id} ${status}`);
  }

  /** The payloads of the mode's own records of a type. */
  written(payload_type: PayloadType): JsonObject[] {
    return this.records
      .filter((one) => one.payload_type === payload_type && one.source === "scheduler")
      .map(({ payload }) => payload);
  }

  /** Why the latest fact was refused, with what is allowed. */
  get why(): string {
    const { message = "", hint = "" } = this.last.step.refused ?? {};
    return `${message}: ${hint}`;
  }

  get projection(): JsonObject {
    return this.resolved(council.projection?.(viewOf(this.self, this.state)) ?? {});
  }
}
