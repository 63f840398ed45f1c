import type { ProcessIdentity } from "../kernel/agent.ts";
import { hasMarker, type ProcessMarker } from "./process-marker.ts";
import { findProcess, signalProcess } from "./processes.ts";
import { descendantsOf, entryOf, pidsGivenSince, processTable } from "./process-table.ts";

/** Maximum number of candidates read without a reason to expect escaped processes: about half a millisecond. */
const FEW = 50;

const NONE: readonly ProcessIdentity[] = [];

/**
 * The descendants of a launched process that have left its group, by `setsid` or a group of their own. They are found by descent while
 * their ancestors live, and afterwards by the marker (Linux only). A process that lost its ancestors and cleared its environment is not
 * found.
 */
export class EscapedProcesses {
  readonly #leader: ProcessIdentity;
  readonly #marker: ProcessMarker;
  readonly #since: number;
  #known: readonly ProcessIdentity[] = NONE;

  /** `since` is when the leader was started (`performance.now()`). */
  constructor(leader: ProcessIdentity, marker: ProcessMarker, since: number) {
    this.#leader = leader;
    this.#marker = marker;
    this.#since = since;
  }

  /** Searches for escaped processes. If none are `expected`, only if the search costs less than starting a process. */
  find(expected: boolean): void {
    const { pid } = this.#leader;
    const found = new Map(this.#known.map((identity) => [identity.pid, identity]));
    const add = ({ pid: other, started }: ProcessIdentity) => void found.set(other, { pid: other, started });
    if (expected && findProcess(this.#leader) === "alive") {
      for (const entry of descendantsOf([pid], processTable(this.#since))) if (entry.group !== pid) add(entry);
    }
    const candidates = this.#marker.size === 0 ? [] : pidsGivenSince(pid);
    if (expected || candidates.length <= FEW) {
      for (const candidate of candidates) {
        if (!hasMarker(candidate, this.#marker)) continue;
        const entry = entryOf(candidate);
        if (entry !== undefined && entry.group !== pid) add(entry);
      }
    }
    this.#known = [...found.values()];
  }

  signal(signal: NodeJS.Signals): void {
    for (const identity of this.#known) signalProcess(identity, signal);
  }

  get areLeft(): boolean {
    if (this.#known.length > 0) this.#known = this.#known.filter((identity) => findProcess(identity) === "alive");
    return this.#known.length > 0;
  }
}
