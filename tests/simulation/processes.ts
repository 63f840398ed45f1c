import type { ProcessIdentity } from "../../src/kernel/agent.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface ProcessSpec {
  readonly session_id: string;
  readonly kind: "manager" | "worker" | "participant" | "check";
  /** The role, or the command of a check. */
  readonly who: string;
  readonly subject: string | undefined;
  /** The turn that it carries out. Checks know it only from the record. */
  readonly turn_id?: string;
  readonly attempt?: number;
  /** It is part of its scheduler's process and dies with it. */
  readonly inside: boolean;
  readonly owner: { readonly isFenced: boolean };
}

/** A process that works for a scheduler, and goes on when the scheduler dies. */
export interface SimulatedProcess extends ProcessSpec, ProcessIdentity {
  alive: boolean;
  /** It has got its work. Before that it only waits. */
  working: boolean;
  /** It has waited for a permission, and others got its seat meanwhile. */
  lent?: boolean;
  /** Called once. */
  onEnd: ((exit: Exit) => void)[];
}

/** Every process of the simulated machine. */
export class Processes {
  readonly #time: VirtualTime;
  readonly #living = new Map<number, SimulatedProcess>();
  #pid = 1000;
  /** Called when a process begins to work. */
  onWork: (process: SimulatedProcess) => void = () => {};

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  get living(): readonly SimulatedProcess[] {
    return [...this.#living.values()];
  }

  /** The processes that live, without those inside a scheduler that was taken over: the store hears nothing from these. */
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

  /** Gives a process its work. False if it is gone. */
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
