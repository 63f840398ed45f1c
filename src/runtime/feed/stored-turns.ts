import { defined } from "../../lib/json.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import type { SessionEvent, TurnAbout } from "../bus.ts";
import type { RunningTurn } from "./standing.ts";
import { TurnOutput } from "./turn-output.ts";

/** The stored processes of turns, by turn id. Turns of models have none of their own. */
export type TurnProcesses = ReadonlyMap<string, { readonly pid?: number; readonly run: number }>;

interface WatchedTurn {
  readonly about: TurnAbout;
  readonly output: TurnOutput;
}

/**
 * Emits when turns of another process begin and end, and what their agents print, from requests, stored processes and output files. Each poll
 * reads `processes` before the records, so the records of earlier polls contain no end of a listed process.
 */
export class StoredTurns {
  readonly #output: string;
  readonly #emit: (event: SessionEvent) => void;
  /** Turns that were requested and are not known to have begun. */
  readonly #given = new Map<string, TurnAbout>();
  readonly #watched = new Map<string, WatchedTurn>();
  /** Turns that began after the processes were read, which therefore cannot show whether they have ended. */
  readonly #unsettled = new Set<string>();
  #processes: TurnProcesses = new Map();

  /** `output` is the folder with the agents' output. */
  constructor(output: string, emit: (event: SessionEvent) => void) {
    this.#output = output;
    this.#emit = emit;
  }

  get count(): number {
    return this.#watched.size;
  }

  /** Whether the processes must be read once more, although nothing has changed. */
  get isUnsettled(): boolean {
    return this.#unsettled.size > 0;
  }

  /** Watches turns that are already running. Their output so far is not emitted. */
  join(running: readonly RunningTurn[], processes: TurnProcesses): void {
    for (const { turn_id, role_id, subject } of running) {
      const run = processes.get(turn_id)?.run;
      if (run === undefined) continue;
      const about = { turn_id, run, role_id, ...defined({ subject }) };
      this.#watched.set(turn_id, { about, output: new TurnOutput(this.#output, about, true) });
    }
  }

  /** Emits what agents have printed since the last call. */
  tellOutput(): void {
    for (const turn of this.#watched.values()) this.#tellLines(turn);
  }

  begin(processes: TurnProcesses): void {
    this.#processes = processes;
    this.#unsettled.clear();
  }

  /** Call before a record is emitted: the start of its turn, and the lines printed until then, come first. */
  before({ payload_type, record: { turn_id, run } }: UnsealedRecord): void {
    if (turn_id === undefined || payload_type === "turn_request") return;
    const given = this.#given.get(turn_id);
    if (given && (run ?? given.run) === given.run) {
      if (!this.#processOf(given)) this.#unsettled.add(turn_id);
      this.#start(given);
    }
    const turn = this.#watched.get(turn_id);
    if (turn) this.#tellLines(turn);
  }

  /** Call after a record is emitted. */
  after({ payload_type, target, record }: UnsealedRecord): void {
    const { turn_id, run = 1, ticket_id, disposition } = record;
    if (payload_type !== "turn_request" || turn_id === undefined || disposition !== "applied") return;
    // Any earlier run of the turn is over.
    this.#end(turn_id);
    this.#given.set(turn_id, { turn_id, run, role_id: target, ...defined({ subject: ticket_id }) });
  }

  /** Ends a poll: emits the start of turns that are now on record as running, and the end of those that no longer are. */
  settle(): void {
    for (const given of [...this.#given.values()]) if (this.#processOf(given)) this.#start(given);
    for (const { about } of [...this.#watched.values()]) {
      if (!this.#processOf(about) && !this.#unsettled.has(about.turn_id)) this.#end(about.turn_id);
    }
  }

  #processOf({ turn_id, run }: TurnAbout): { readonly pid?: number } | undefined {
    const process = this.#processes.get(turn_id);
    return process?.run === run ? process : undefined;
  }

  #start(about: TurnAbout): void {
    const pid = this.#processOf(about)?.pid;
    this.#given.delete(about.turn_id);
    this.#watched.set(about.turn_id, { about, output: new TurnOutput(this.#output, about, false) });
    this.#emit({ kind: "turn_started", ...about, ...defined({ pid }) });
  }

  #end(turn_id: string): void {
    const turn = this.#watched.get(turn_id);
    if (!turn) return;
    this.#tellLines(turn, true);
    this.#watched.delete(turn_id);
    this.#emit({ kind: "turn_ended", ...turn.about });
  }

  #tellLines({ about, output }: WatchedTurn, toEnd = false): void {
    for (const line of output.read(toEnd)) this.#emit({ kind: "console", ...about, ...line });
  }
}
