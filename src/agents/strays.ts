import type { ProcessIdentity } from "../kernel/agent.ts";
import { bears, type Mark } from "./mark.ts";
import { findProcess, signalProcess } from "./processes.ts";
import { descendantsOf, entryOf, pidsGivenSince, processTable } from "./process-table.ts";

/** How many candidates are looked at when there is no reason to expect anything: about half a millisecond's worth. */
const FEW = 50;

const NONE: readonly ProcessIdentity[] = [];

/**
 * What a launched process started and what has left its group since, by `setsid` or a group of its own. Found by descent while its
 * ancestors live, and by its mark afterwards (Linux only); what has cleared its environment and lost its ancestors is not found.
 */
export class Strays {
  readonly #leader: ProcessIdentity;
  readonly #mark: Mark;
  readonly #since: number;
  #known: readonly ProcessIdentity[] = NONE;

  /** `since` is when the leader had been started, by `performance.now()`. */
  constructor(leader: ProcessIdentity, mark: Mark, since: number) {
    this.#leader = leader;
    this.#mark = mark;
    this.#since = since;
  }

  /** Looks for them. Without a reason to expect some it is not done where it would cost more than starting a process does. */
  seek(expected: boolean): void {
    const { pid } = this.#leader;
    const found = new Map(this.#known.map((identity) => [identity.pid, identity]));
    const add = (stray: ProcessIdentity) => void found.set(stray.pid, { pid: stray.pid, started: stray.started });
    if (expected && findProcess(this.#leader) === "alive") {
      for (const entry of descendantsOf([pid], processTable(this.#since))) if (entry.group !== pid) add(entry);
    }
    const candidates = this.#mark.size === 0 ? [] : pidsGivenSince(pid);
    if (expected || candidates.length <= FEW) {
      for (const candidate of candidates) {
        if (!bears(candidate, this.#mark)) continue;
        const entry = entryOf(candidate);
        if (entry !== undefined && entry.group !== pid) add(entry);
      }
    }
    this.#known = [...found.values()];
  }

  signal(signal: NodeJS.Signals): void {
    for (const stray of this.#known) signalProcess(stray, signal);
  }

  get live(): boolean {
    if (this.#known.length > 0) this.#known = this.#known.filter((stray) => findProcess(stray) === "alive");
    return this.#known.length > 0;
  }
}
