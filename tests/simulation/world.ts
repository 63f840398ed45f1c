import type { SessionRow } from "../../src/store/store.ts";
import { Findings } from "./findings.ts";
import { MemoryDatabase } from "./memory-store.ts";
import { Processes } from "./processes.ts";
import { type Random, randomOf } from "./random.ts";
import { type Scenario, scenarioOf } from "./scenario.ts";
import { VirtualTime } from "./virtual-time.ts";

/** A promise that is broken: the invariant's name, and what was seen. */
export interface Violation {
  readonly invariant: string;
  readonly seen: string;
}

/** The session that is lived through; whatever else there is are its children. */
export const SESSION_ID = "s";

/** What there is in one simulated execution besides the schedulers: time, a machine, a database, and what has been seen. */
export class World {
  readonly scenario: Scenario;
  readonly time: VirtualTime;
  readonly database: MemoryDatabase;
  readonly processes: Processes;
  readonly findings = new Findings();
  /** For whatever may hang on the order of events. */
  readonly chance: Random;
  readonly #trace: string[] | undefined;
  readonly #names = new Map<string, string>();
  violation: Violation | undefined;
  /** From now on nothing bad happens any more, and people answer what they are asked: the session must come to an end. */
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

  /** A child is begun. */
  begun(session_id: string, subject: string): void {
    const others = [...this.#names.values()].filter((name) => name.startsWith(`${subject}.`));
    this.#names.set(session_id, `${subject}.${others.length}/`);
  }

  /** What a session is called whatever else is on record: a child by what it is about, and how many of those there were before it. */
  nameOf(session_id: string): string {
    return this.#names.get(session_id) ?? "";
  }

  /** Whether its scheduler dies in the middle of something; `misfortune` decides. */
  mayDie: (where: string) => boolean = () => false;

  /** A line of the trace; built only when somebody reads it. */
  tell(line: () => string): void {
    this.#trace?.push(`${String(Math.round(this.time.at)).padStart(7)} ${line()}`);
  }

  /** The first broken promise counts; what follows is its consequence. */
  broken(invariant: string, seen: string): void {
    this.violation ??= { invariant, seen };
    this.tell(() => `BROKEN ${invariant}: ${seen}`);
  }
}
