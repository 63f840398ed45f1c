import { isDeepStrictEqual } from "node:util";
import type { PayloadByType } from "../../src/protocol/payload.ts";
import { GENESIS, type LogRecord } from "../../src/protocol/record.ts";
import type { Commit, Lease } from "../../src/store/store.ts";
import { RecordRules } from "./record-rules.ts";
import type { World } from "./world.ts";

type Begun = PayloadByType["session_begun"];
type Finished = PayloadByType["session_finished"];
/** The end of a child that never began. */
const NOTHING = { turns: 0, input_tokens: 0, output_tokens: 0, cost_usd: 0 };

const WITHOUT_TICKET = ["requirement", "clarification", "clarification_response"];

type Opened = PayloadByType["session_opened"];

/** Checks the logs of all sessions: each by itself, and those of parents and children against each other. */
export class FamilyRules {
  readonly #world: World;
  readonly #rules = new Map<string, RecordRules>();
  readonly #begun = new Map<string, Begun>();
  readonly #finished = new Set<string>();
  onPlan: RecordRules["onPlan"] = () => {};

  constructor(world: World) {
    this.#world = world;
  }

  get records(): number {
    return [...this.#rules.values()].reduce((sum, { records }) => sum + records, 0);
  }

  /** How many children have ended. */
  get children(): number {
    return this.#finished.size;
  }

  /** How often something that a person sent is recorded in any of the logs. */
  count(mark: string): number {
    return [...this.#rules.values()].reduce((sum, rules) => sum + rules.count(mark), 0);
  }

  check(lease: Lease, commit: Commit): void {
    this.#rulesOf(lease.session_id).check(lease, commit);
  }

  #rulesOf(session_id: string): RecordRules {
    const known = this.#rules.get(session_id);
    if (known) return known;
    const rules = new RecordRules(this.#world);
    // A planner's plan, in a child session, is not the manager's.
    if (!session_id.includes(".")) rules.onPlan = this.onPlan;
    rules.onChild = (record) => this.#onChild(record);
    this.#rules.set(session_id, rules);
    return rules;
  }

  #onChild({ session_id, payload_type, payload }: LogRecord): void {
    if (payload_type === "session_begun") this.#begins(session_id, payload as Begun);
    else if (payload_type === "session_finished") this.#ends(payload as Finished);
    else this.#opens(session_id, payload as unknown as Opened);
  }

  #begins(parent: string, begun: Begun): void {
    const { session_id, ticket_id = "" } = begun;
    const asked = this.#world.database.record(parent, Number(session_id.slice(parent.length + 1)));
    // Planners are asked when nothing about the requirement is open any more.
    const asking = ticket_id === "" ? WITHOUT_TICKET : ["instruction_proposal"];
    if (!asking.includes(asked?.payload_type ?? "") || (asked?.record.ticket_id ?? "") !== ticket_id) {
      this.#violated("a child is begun for what asked for it", `${session_id} about ${ticket_id}`);
    }
    if (this.#begun.has(session_id)) this.#violated("a child is begun once", session_id);
    this.#begun.set(session_id, begun);
    this.#world.begun(session_id, ticket_id);
  }

  /** A child's first record agrees with its parent's record of its beginning. */
  #opens(session_id: string, { mode, parent, config: { budget } }: Opened): void {
    const { ticket_id, ...known } = this.#begun.get(session_id) ?? {};
    const said = { session_id, mode, budget };
    if (parent?.ticket_id !== ticket_id || !isDeepStrictEqual(said, known)) {
      this.#violated("a child is what its parent has begun", `${JSON.stringify(said)} for ${JSON.stringify(known)}`);
    }
  }

  /** The parent's record of a child's end agrees with the child's log. */
  #ends({ session_id, ticket_id, outcome, usage, log }: Finished): void {
    const { records, head } = log;
    if (!this.#begun.has(session_id) || this.#finished.has(session_id)) this.#violated("a child ends once", session_id);
    this.#finished.add(session_id);
    const row = this.#world.sessions.find((one) => one.session_id === session_id);
    const report = this.#world.database.lastReport(session_id) as Finished | undefined;
    const own = row
      ? { outcome: report?.outcome, usage: report?.usage, records: row.last_sequence, head: row.head }
      : { outcome: "failed", usage: NOTHING, records: 0, head: GENESIS };
    const said = { outcome, usage, records, head };
    if (!isDeepStrictEqual(said, own) || this.#begun.get(session_id)?.ticket_id !== ticket_id) {
      this.#violated("a child's end is its own", `${JSON.stringify(said)} for ${JSON.stringify(own)}`);
    }
  }

  #violated(invariant: string, seen: string): void {
    this.#world.violated(invariant, seen);
  }
}
