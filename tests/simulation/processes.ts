import type { ProcessIdentity } from "../../src/kernel/agent.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ProcessSpec {
  readonly session_id: string;
  readonly kind: "manager" | "worker" | "participant" | "check";
  /** The role, or what runs a check. */
  readonly who: string;
  readonly subject: string | undefined;
  /** The turn it carries; checks learn theirs only from the record. */
  readonly turn_id?: string;
  readonly attempt?: number;
  /** It is a part of its scheduler and dies with it. */
  readonly inside: boolean;
  readonly owner: { readonly isFenced: boolean };
}

/** Something that works for a scheduler, and goes on working when that one is gone. */
export interface SimulatedProcess extends ProcessSpec, ProcessIdentity {
  alive: boolean;
  /** It was given its work; before that it waits for it, and does nothing. */
  working: boolean;
  /** Told once. */
  onEnd: ((exit: Exit) => void)[];
}

/** Every process of the simulated machine. */
export class Processes {
  readonly #time: VirtualTime;
  readonly #living = new Map<number, SimulatedProcess>();
  #pid = 1000;
  /** Looks at the others whenever one begins to work. */
  onWork: (process: SimulatedProcess) => void = () => {};

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  get living(): readonly SimulatedProcess[] {
    return [...this.#living.values()];
  }

  /** What is a part of a scheduler that was taken over works for nobody: no store hears of it. */
  get working(): readonly SimulatedProcess[] {
    return this.living.filter((process) => process.working && !(process.inside && process.owner.isFenced));
  }

  find({ pid, started }: ProcessIdentity): SimulatedProcess | undefined {
    const found = this.#living.get(pid);
    return found?.started === started ? found : undefined;
  }

  spawn(spec: ProcessSpec): SimulatedProcess {
    this.#pid += 1;
    const process = { ...spec, pid: this.#pid, started: `${this.#time.at}`, alive: true, working: false, onEnd: [] };
    this.#living.set(process.pid, process);
    return process;
  }

  /** Its work is handed over. False if there is nobody to take it. */
  give(process: SimulatedProcess): boolean {
    if (!process.alive) return false;
    process.working = true;
    this.onWork(process);
    return true;
  }

  end(process: SimulatedProcess, exit: Exit): void {
    if (!process.alive) return;
    process.alive = false;
    process.working = false;
    this.#living.delete(process.pid);
    for (const told of process.onEnd.splice(0)) told(exit);
  }
}
