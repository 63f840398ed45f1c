import type { JsonObject } from "../../src/lib/json.ts";
import { err, type Result } from "../../src/lib/result.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import { type Failure, failure } from "../../src/protocol/failure.ts";
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

export type Ended = Result<SessionEnd, Failure>;

/** What a person changes when they take a session up. */
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
  readonly remember: (taken: Result<Session<unknown>, Failure>) => Result<Session<unknown>, Failure>;
}

/** Where in a commit its scheduler dies, or what becomes of the commit. */
export type CommitFault = "dies before" | "dies after" | "freezes after" | "fails" | "fails but stands";

const NO_ROOM = failure("storage_full", "The disk is full.");

/**
 * A process that runs the session: all that it does to the world, and all that comes back to it, passes here. So it can die at any
 * moment, after which nothing that is left of it in this program reaches anybody; or be frozen, and go on later as if nothing were.
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
  /** The sessions that it has taken and what it knows of them, for those who compare that with what is stored. */
  readonly memory = new Map<string, Remembered>();
  /** Another has taken the session over, whether it knows or not. */
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

  /** The next commit meets this. */
  set fault(fault: CommitFault) {
    this.#fault = fault;
  }

  die(): void {
    if (this.#state === "dead") return;
    this.#world.tell(() => `${this.name} dies`);
    this.#state = "dead";
    this.#held = [];
    this.#store.kill();
    const { processes } = this.#world;
    for (const process of processes.living) {
      // Whoever was not given work reads the end of the pipe and exits; the others do not notice.
      if (process.owner === this && (process.inside || !process.working))
        processes.end(process, { code: 0, signal: null });
    }
  }

  /** It stands still, as under SIGSTOP or in a machine that was put to sleep, while the world goes on. */
  freeze(): void {
    if (this.#state !== "running") return;
    this.#world.tell(() => `${this.name} is frozen`);
    this.#state = "frozen";
  }

  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#world.tell(() => `${this.name} goes on`);
    this.#state = "running";
    for (const held of this.#held.splice(0)) this.deliver(held);
  }

  /** Something comes back to it. */
  deliver(arrive: () => void): void {
    if (this.#state === "running") arrive();
    else if (this.#state === "frozen") this.#held.push(arrive);
  }

  /** A promise of the outer world, as it comes back to this process: a dead one never hears of it. */
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

  async #run(opened: Result<Session<unknown>, Failure>, patient: boolean): Promise<Ended> {
    return opened.ok ? opened.value.run({ waitForPeople: patient }) : opened;
  }

  /** The mode, with which the session that is taken by it is remembered together with its state. */
  #watched(mode: Mode<unknown>): Watched {
    let state: unknown;
    const empty = () => {
      state = mode.empty();
      return state;
    };
    const remember = (taken: Result<Session<unknown>, Failure>) => {
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

  /** Much may befall its parent before a child is there. */
  async #askForChild<T>(session_id: string, call: () => Promise<T>): Promise<T> {
    if (session_id !== SESSION_ID) await this.#ask(() => this.#slowly(0.3, 2000));
    return this.#ask(call);
  }

  #ask<T>(call: () => Promise<T>): Promise<T> {
    return this.isDead ? new Promise(() => {}) : this.hears(call());
  }

  /** Storage takes its time, in that share of cases. */
  async #slowly(share: number, most_ms: number): Promise<void> {
    const { chance, time } = this.#world;
    if (share === 0 || !chance.chance(share)) return;
    const slow = Promise.withResolvers<void>();
    time.after(chance.between(1, most_ms), () => slow.resolve());
    await slow.promise;
  }

  async #commit(lease: Lease, commit: Commit): Promise<Result<void, Failure>> {
    const fault = this.#fault;
    this.#fault = undefined;
    if (fault)
      this.#world.tell(
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
