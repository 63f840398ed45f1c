import type { SessionRow } from "../../src/store/store.ts";
import { Findings } from "./findings.ts";
import { MemoryDatabase } from "./memory-store.ts";
import { Processes } from "./processes.ts";
import { type Random, randomOf } from "./random.ts";
import { type Outage, type Scenario, scenarioOf } from "./scenario.ts";
import { VirtualTime } from "./virtual-time.ts";

/** A broken promise: its name, and what was seen instead. */
export interface Violation {
  readonly invariant: string;
  readonly seen: string;
}

/** The session that is run. All other sessions are its children. */
export const SESSION_ID = "s";

/** One simulated world: time, processes, a database, and the first broken promise. */
export class World {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly database: MemoryDatabase;
  readonly processes: Processes;
  readonly findings = new Findings();
  /** For choices that may depend on the order of events. */
  readonly chance: Random;
  readonly #trace: string[] | undefined;
  readonly #names = new Map<string, string>();
  violation: Violation | undefined;
  /** Misfortunes have ended, and people answer everything: the session must end. */
  isCalm = false;

  constructor(scenario: Scenario, trace?: string[]) {
    this.scenario = scenario;
    this.time = new VirtualTime(scenario.seed);
    this.database = new MemoryDatabase(() => this.time.now());
    this.processes = new Processes(this.time);
    this.chance = randomOf(scenario.seed, "world");
    this.#trace = trace;
  }

  static of(seed: number, trace?: string[]): World {
    return new World(scenarioOf(seed), trace);
  }

  /** The sessions that have a record. */
  get sessions(): readonly SessionRow[] {
    return this.database.rows.filter(({ last_sequence }) => last_sequence > 0);
  }

  /** Whether the provider of this role is away; without a role, whether no check can be started. */
  isAway(role_id: string | undefined): boolean {
    const isNow = ({ from, to }: Outage) => from <= this.time.at && this.time.at < to;
    const isIts = (outage: Outage) => outage.role_id === undefined || outage.role_id === role_id;
    return !this.isCalm && this.scenario.outages.some((outage) => isNow(outage) && isIts(outage));
  }

  /** Adds a child session that has begun. */
  begun(session_id: string, subject: string): void {
    const others = [...this.#names.values()].filter((name) => name.startsWith(`${subject}.`));
    this.#names.set(session_id, `${subject}.${others.length}/`);
  }

  /** A name for a session that does not depend on sequences: for a child, its subject and its number among the children about it. */
  nameOf(session_id: string): string {
    return this.#names.get(session_id) ?? "";
  }

  /** Whether a scheduler dies in the middle of something, if the misfortunes allow. */
  mayDie: (where: string) => boolean = () => false;

  /** Adds a line to the trace. The line is built only if there is a trace. */
  log(line: () => string): void {
    this.#trace?.push(`${String(Math.round(this.time.at)).padStart(7)} ${line()}`);
  }

  /** Reports a broken promise. Only the first one counts: the others may follow from it. */
  violated(invariant: string, seen: string): void {
    this.violation ??= { invariant, seen };
    this.log(() => `BROKEN ${invariant}: ${seen}`);
  }
}
