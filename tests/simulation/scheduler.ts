import type { JsonObject } from "../../src/lib/json.ts";
import { err } from "../../src/lib/result.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import { failure, type Fallible } from "../../src/protocol/failure.ts";
import type { Clock } from "../../src/runtime/time/clock.ts";
import type { SessionEnd } from "../../src/runtime/bus.ts";
import type { Surroundings, TakeChildOf } from "../../src/runtime/assemble.ts";
import { childSessions } from "../../src/runtime/children/child-sessions.ts";
import { createSession, type NewSessionInput } from "../../src/runtime/create.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import type { FactInput } from "../../src/runtime/facts.ts";
import type { Session } from "../../src/runtime/session.ts";
import type { Commit, Lease, Store } from "../../src/store/store.ts";
import type { AgentOf } from "./agents.ts";
import { simulatedLauncher } from "./launcher.ts";
import { MODES } from "./modes.ts";
import { SESSION_ID, type World } from "./world.ts";

export type Ended = Fallible<SessionEnd>;

/** What a person changes when they resume a session. */
export interface Change {
  readonly limits?: JsonObject;
  readonly reopen?: string;
  readonly fact?: Pick<FactInput, "payload_type" | "payload">;
}

/** A session in a scheduler's memory. */
export interface Remembered {
  readonly session: Session<unknown>;
  readonly state: unknown;
}

interface Watched {
  readonly mode: Mode<unknown>;
  readonly remember: (taken: Fallible<Session<unknown>>) => Fallible<Session<unknown>>;
}

/** A misfortune in a commit: the scheduler dies or freezes before or after it, or the commit fails. */
export type CommitFault = "dies before" | "dies after" | "freezes after" | "fails" | "fails but stands";

const NO_ROOM = failure("storage_full", "The disk is full.");

/**
 * A process that runs the session. All its effects on the world and everything that comes back pass through here. So it can die at any
 * moment, and its remaining objects reach nothing; or it can be frozen and go on later.
 */
export class Scheduler {
  readonly name: string;
  readonly #world: World;
  readonly #store: ReturnType<World["database"]["connect"]>;
  readonly #agentOf: AgentOf;
  #state: "running" | "frozen" | "dead" = "running";
  #held: (() => void)[] = [];
  #fault: CommitFault | undefined;
  readonly #mode: Mode<unknown>;
  /** The sessions that it runs, with their states in memory, for comparing with the store. */
  readonly memory = new Map<string, Remembered>();
  /** Another scheduler has taken the session over, whether this one knows or not. */
  isFenced = false;

  constructor(world: World, name: string, mode: Mode<unknown>, agentOf: AgentOf) {
    this.name = name;
    this.#world = world;
    this.#agentOf = agentOf;
    this.#store = world.database.connect();
    this.#mode = mode;
  }

  /** The session that it was started for. */
  get session(): Session<unknown> | undefined {
    return this.memory.get(SESSION_ID)?.session;
  }

  get isDead(): boolean {
    return this.#state === "dead";
  }

  get isFrozen(): boolean {
    return this.#state === "frozen";
  }

  get isRunning(): boolean {
    return this.#state === "running";
  }

  /** The misfortune of its next commit. */
  set fault(fault: CommitFault) {
    this.#fault = fault;
  }

  die(): void {
    if (this.#state === "dead") return;
    this.#world.log(() => `${this.name} dies`);
    this.#state = "dead";
    this.#held = [];
    this.#store.kill();
    const { processes } = this.#world;
    for (const process of processes.living) {
      // A process without work reads the end of its pipe and exits. The others do not notice.
      if (process.owner === this && (process.inside || !process.working))
        processes.end(process, { code: 0, signal: null });
    }
  }

  /** Freezes it, as SIGSTOP does, while the world goes on. */
  freeze(): void {
    if (this.#state !== "running") return;
    this.#world.log(() => `${this.name} is frozen`);
    this.#state = "frozen";
  }

  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#world.log(() => `${this.name} goes on`);
    this.#state = "running";
    for (const held of this.#held.splice(0)) this.deliver(held);
  }

  /** Delivers something to it: now, after it was frozen, or never if it is dead. */
  deliver(arrive: () => void): void {
    if (this.#state === "running") arrive();
    else if (this.#state === "frozen") this.#held.push(arrive);
  }

  /** A promise of the outer world, as this process sees it: it never settles once the process is dead. */
  hears<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => this.deliver(() => resolve(value)),
        (error: Error) => this.deliver(() => reject(error)),
      );
    });
  }

  async begin(input: NewSessionInput, patient: boolean): Promise<Ended> {
    const { mode, remember } = this.#watched(this.#mode);
    return this.#run(remember(await createSession(this.#surroundings(), mode, input)), patient);
  }

  async resume(patient: boolean, { fact, ...change }: Change = {}): Promise<Ended> {
    const row = this.#store.session(SESSION_ID);
    if (!row.ok) return row;
    const { mode, remember } = this.#watched(this.#mode);
    const opened = remember(await resumeSession(this.#surroundings(), mode, row.value, change));
    const actor = { user: "ada", host: "here", via: "resume" };
    if (opened.ok && fact) opened.value.submitFromPerson({ ...fact, source: "user", actor });
    return this.#run(opened, patient);
  }

  async #run(opened: Fallible<Session<unknown>>, patient: boolean): Promise<Ended> {
    return opened.ok ? opened.value.run({ waitForPeople: patient }) : opened;
  }

  /** The mode, wrapped so that the session's state is remembered for comparing. */
  #watched(mode: Mode<unknown>): Watched {
    let state: unknown;
    const empty = () => {
      state = mode.empty();
      return state;
    };
    const remember = (taken: Fallible<Session<unknown>>) => {
      if (taken.ok) this.memory.set(taken.value.session_id, { session: taken.value, state });
      return taken;
    };
    return { mode: { ...mode, empty }, remember };
  }

  #childrenOf: TakeChildOf = (around, parent) => async (session_id, order) => {
    let watched: Watched | undefined;
    const take = childSessions(async (name) => {
      const mode = MODES.get(name);
      watched = mode && this.#watched(mode);
      return watched?.mode;
    });
    const taken = await take(around, parent)(session_id, order);
    return watched?.remember(taken) ?? taken;
  };

  #surroundings(): Surroundings {
    return {
      home: "home",
      store: this.#storeSeen(),
      clock: this.#clock(),
      launcher: simulatedLauncher(this.#world, this),
      version: "0.0.0",
      agentFor: (role) => this.#agentOf(role, this),
      files: false,
      childrenOf: this.#childrenOf,
    };
  }

  #clock(): Clock {
    const { time } = this.#world;
    const after = (delay_ms: number, callback: () => void) => {
      if (this.isDead) return () => {};
      let isCancelled = false;
      const cancel = time.after(delay_ms, () =>
        this.deliver(() => {
          if (!isCancelled) callback();
        }),
      );
      return () => {
        isCancelled = true;
        cancel();
      };
    };
    return {
      now: () => time.now(),
      monotonic: () => time.at,
      uptime: () => time.uptime,
      after,
      soon: (callback) => void after(0, callback),
    };
  }

  #storeSeen(): Store {
    const store = this.#store;
    return {
      ...store,
      create: (session) => this.#askForChild(session.session_id, () => store.create(session)),
      acquire: (session_id, owner) => this.#askForChild(session_id, () => store.acquire(session_id, owner)),
      release: (lease) => this.#ask(() => store.release(lease)),
      load: (session_id) => this.#ask(() => store.load(session_id)),
      commit: (lease, commit) => this.#ask(() => this.#commit(lease, commit)),
    };
  }

  /** Its scheduler may die before a child session has begun. */
  async #askForChild<T>(session_id: string, call: () => Promise<T>): Promise<T> {
    if (session_id !== SESSION_ID) await this.#ask(() => this.#slowly(0.3, 2000));
    return this.#ask(call);
  }

  #ask<T>(call: () => Promise<T>): Promise<T> {
    return this.isDead ? new Promise(() => {}) : this.hears(call());
  }

  /** Some commits take time. */
  async #slowly(share: number, most_ms: number): Promise<void> {
    const { chance, time } = this.#world;
    if (share === 0 || !chance.chance(share)) return;
    const slow = Promise.withResolvers<void>();
    time.after(chance.between(1, most_ms), () => slow.resolve());
    await slow.promise;
  }

  async #commit(lease: Lease, commit: Commit): Promise<Fallible<void>> {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault)
      this.#world.log(
        () => `${this.name}: the commit of ${this.#world.nameOf(lease.session_id)}${commit.expected + 1} ${fault}`,
      );
    if (fault === "dies before") this.die();
    if (fault === "fails") return err(NO_ROOM);
    await this.#slowly(this.#world.scenario.slowCommits, 50);
    if (this.isDead) return err(NO_ROOM);
    const done = await this.#store.commit(lease, commit);
    if (fault === "dies after") this.die();
    if (fault === "freezes after") this.freeze();
    return fault === "fails but stands" ? err(NO_ROOM) : done;
  }
}
