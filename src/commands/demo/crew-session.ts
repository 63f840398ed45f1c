import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { endLeftovers } from "../../agents/processes.ts";
import { shipped } from "../../config/installation.ts";
import type { JsonObject } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";
import { openReader } from "../../store/sqlite-store.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Waiting } from "../../ui/waiting.ts";
import { livingPrograms } from "./crash.ts";
import { type Scheduler, type SchedulerEnd, schedulerEnvironment, startScheduler } from "./scheduler.ts";
import type { Stage } from "./stage.ts";

/** How long a scheduler has to end when the demo is interrupted, before it is asked once more, and then killed; in ms. */
const PATIENCE_MS = 4_000;
/** How long agents of a killed scheduler have, in ms. */
const AGENT_GRACE_MS = 500;

/** How one scheduler of the demo ended, and what its session then waited for. */
export interface Ran {
  readonly end: SchedulerEnd;
  readonly waiting: readonly Waiting[];
}

/** Is told each record once, in order. */
type Hear = (sequence: number, record: UnsealedRecord) => void;

/**
 * The demo's one session, carried by one `bosun` process after the other. The first says what it is called; from then on the
 * home is read along.
 */
export class CrewSession {
  readonly #stage: Stage;
  readonly #environment: Readonly<Record<string, string>>;
  #session_id = "";
  #reader: StoreReader | undefined;
  #scheduler: Scheduler | undefined;
  /** Records up to this one were heard of. */
  #heard = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#environment = schedulerEnvironment(stage.context.environment, stage.scratch);
  }

  get session_id(): string {
    return this.#session_id;
  }

  /** The home's database; only once the session has said what it is called. */
  get reader(): StoreReader {
    if (this.#reader === undefined) throw new Error("The demo's session has not begun.");
    return this.#reader;
  }

  /** The pid of the scheduler that runs now. */
  get pid(): number {
    return this.#scheduler?.pid ?? 0;
  }

  /** Begins the session. A question that nobody is asked here gets its default. */
  begin(hear: Hear): Promise<Result<Ran, Failure>> {
    const { scratch, ask } = this.#stage;
    const settings = join(scratch.folder, "settings.json");
    writeFileSync(settings, JSON.stringify({ max_workers: 2 }));
    const crew = ["--crew", "embedded", "--config", settings, "--isolation", "none"];
    const work = ["--plan", shipped("examples", "survey.yaml"), "--cwd", scratch.work];
    return this.#run(
      ["run", ...crew, ...work, "--yes", "--foreground", "--unanswered", ask ? "stop" : "default"],
      hear,
    );
  }

  /** Goes on with it, with answers by question id. */
  resume(
    answers: readonly { readonly question_id: string; readonly answer: string }[],
    hear: Hear,
  ): Promise<Result<Ran, Failure>> {
    const given = answers.flatMap(({ question_id, answer }) => ["--answer", `${question_id}=${answer}`]);
    return this.#run(["resume", this.#session_id, ...given], hear);
  }

  /** SIGKILL, to the scheduler alone: its agents have groups of their own, and are left as they are. */
  kill(): void {
    this.#scheduler?.signal("SIGKILL");
  }

  /** The scheduler is to end its agents and itself at once: whoever interrupts twice does not want to wait. */
  hurry(): void {
    this.#scheduler?.signal("SIGTERM");
  }

  /** Hears of the records that were committed and that a killed scheduler could no longer tell of. */
  catchUp(hear: Hear): void {
    let sequence = this.#heard;
    for (const line of this.reader.records(this.#session_id, sequence + 1)) {
      sequence += 1;
      hear(sequence, JSON.parse(line) as UnsealedRecord);
    }
    this.#heard = sequence;
  }

  /** Leaves nothing behind that works or waits: no scheduler, no agent, no session that could not go on without the scratch copy. */
  async leave(): Promise<void> {
    await this.#stop();
    const reader = this.#reader;
    if (reader === undefined) return;
    const living = await livingPrograms(reader, this.#session_id);
    await endLeftovers(
      living.map(({ identity }) => identity),
      AGENT_GRACE_MS,
    );
    const row = reader.session(this.#session_id);
    if (row.ok && row.value.state !== "closed") {
      const cancelled = await this.#start(
        ["cancel", this.#session_id, "--reason", "the demo did not come to its end"],
        () => {},
      );
      if (cancelled.ok && !(await settlesWithin(cancelled.value.ended, PATIENCE_MS))) cancelled.value.signal("SIGKILL");
    }
    reader.close();
  }

  async #run(words: readonly string[], hear: Hear): Promise<Result<Ran, Failure>> {
    const interrupted = err(failure("interrupted", "The demo was interrupted."));
    if (this.#stage.interrupted.aborted) return interrupted;
    const waiting: Waiting[] = [];
    let opened: Failure | undefined;
    const started = await this.#start([...words, "--json", "--no-input"], (event) => {
      if (event.type === "hello") opened = this.#open(event.session_id as string);
      else if (event.type === "waiting") waiting.push(event as unknown as Waiting);
      else if (event.type === "record" && opened === undefined && Number(event.sequence) > this.#heard) {
        const { type: _, sequence, ...record } = event;
        this.#heard = Number(sequence);
        hear(this.#heard, record as unknown as UnsealedRecord);
      }
    });
    if (!started.ok) return started;
    this.#scheduler = started.value;
    const interrupt = () => void this.#stop();
    this.#stage.interrupted.addEventListener("abort", interrupt);
    if (this.#stage.interrupted.aborted) interrupt();
    const end = await started.value.ended;
    this.#stage.interrupted.removeEventListener("abort", interrupt);
    this.#scheduler = undefined;
    if (this.#stage.interrupted.aborted) return interrupted;
    if (opened) return err(opened);
    if (this.#reader === undefined) return err(failure("environment", `The scheduler could not begin: ${end.said}`));
    return ok({ end, waiting });
  }

  #open(session_id: string): Failure | undefined {
    this.#session_id = session_id;
    if (this.#reader !== undefined) return undefined;
    const reader = openReader(this.#stage.home);
    if (!reader.ok) return reader.error;
    this.#reader = reader.value;
    return undefined;
  }

  #start(words: readonly string[], hear: (event: JsonObject) => void): Promise<Result<Scheduler, Failure>> {
    const { home, scratch } = this.#stage;
    return startScheduler({
      words: ["--home", home, ...words],
      directory: scratch.folder,
      environment: this.#environment,
      hear,
    });
  }

  async #stop(): Promise<void> {
    const scheduler = this.#scheduler;
    if (scheduler === undefined) return;
    for (const signal of ["SIGTERM", "SIGTERM", "SIGKILL"] as const) {
      scheduler.signal(signal);
      if (await settlesWithin(scheduler.ended, PATIENCE_MS)) return;
    }
  }
}

/** Whether a promise settles within so many milliseconds. */
async function settlesWithin(promise: Promise<unknown>, within_ms: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, within_ms, false);
  const settled = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return settled;
}
