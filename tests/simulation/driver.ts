import type { JsonObject } from "../../src/lib/json.ts";
import type { LedgerFigures } from "../../src/kernel/ledger.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import type { NewSessionInput } from "../../src/runtime/create.ts";
import type { AgentOf } from "./agents.ts";
import type { Crew } from "./crew.ts";
import type { Misfortunes } from "./scenario.ts";
import { type Change, type CommitFault, type Ended, Scheduler } from "./scheduler.ts";
import { compareMemory, checkClosed } from "./state-rules.ts";
import { SESSION_ID, type World } from "./world.ts";

const DAY_MS = 86_400_000;

type Misfortune = Exclude<keyof Misfortunes, "rate">;

/** Starts schedulers: begins the session, resumes it however it was left, and causes misfortunes. */
export class Driver {
  readonly #world: World;
  readonly #mode: Mode<unknown>;
  readonly #crew: Crew;
  readonly #agentOf: AgentOf;
  readonly #store: ReturnType<World["database"]["connect"]>;
  readonly #all: Scheduler[] = [];
  readonly #left: Record<Misfortune, number>;
  #reopenings = 1;
  readonly reports: JsonObject[] = [];
  current: Scheduler | undefined;
  isOver = false;
  crashes = 0;

  constructor(world: World, mode: Mode<unknown>, crew: Crew, agentOf: AgentOf) {
    this.#world = world;
    this.#mode = mode;
    this.#crew = crew;
    this.#agentOf = agentOf;
    this.#store = world.database.connect();
    const { rate: _, ...left } = world.scenario.misfortunes;
    this.#left = { ...left };
    world.mayDie = () => this.#mayDie();
  }

  begin(): void {
    this.#start((scheduler, patient) => scheduler.begin(this.#input(), patient));
  }

  /** Ends the schedulers that are left after the end. */
  endAll(): void {
    for (const scheduler of this.#all) scheduler.die();
  }

  /** May cause a misfortune after an event. Returns whether it did. */
  misfortune(): boolean {
    const { chance, scenario, isCalm } = this.#world;
    const { current } = this;
    if (isCalm || this.isOver || !chance.chance(scenario.misfortunes.rate)) return false;
    const kinds = Object.entries(this.#left).filter(([, left]) => left > 0);
    if (kinds.length === 0) return false;
    const [kind] = chance.pick(kinds) as [Misfortune, number];
    if (kind === "clockJumps") this.#jump();
    else if (kind === "killedAgents") this.#killAgent();
    else if (current?.isRunning !== true) return false;
    else if (kind === "crashes") this.#crash(current);
    else if (kind === "failedCommits") current.fault = chance.pick<CommitFault>(["fails", "fails but stands"]);
    else if (kind === "takeOvers") this.#takeOver(current);
    else if (kind === "stops") current.session?.stop("signal", "a person pressed Ctrl-C");
    this.#left[kind] -= 1;
    return true;
  }

  #mayDie(): boolean {
    if (this.#world.isCalm || this.#left.crashes === 0 || !this.#world.chance.chance(0.03)) return false;
    this.#left.crashes -= 1;
    this.#takeUpLater();
    this.crashes += 1;
    return true;
  }

  #crash(scheduler: Scheduler): void {
    this.crashes += 1;
    const { chance } = this.#world;
    if (chance.chance(0.4)) {
      scheduler.fault = chance.pick<CommitFault>(["dies before", "dies after"]);
      this.#watch(scheduler);
      return;
    }
    compareMemory(this.#world, scheduler);
    scheduler.die();
    this.#takeUpLater();
  }

  /** A scheduler that dies or freezes in its next commit is followed by another one after that. */
  #watch(scheduler: Scheduler): void {
    this.#world.time.after(100, () => {
      if (this.current !== scheduler || this.isOver) return;
      if (scheduler.isDead) this.#takeUpLater();
      else if (scheduler.isFrozen) this.#takeFrom(scheduler);
      else this.#watch(scheduler);
    });
  }

  #takeOver(scheduler: Scheduler): void {
    if (this.#world.chance.chance(0.5)) {
      scheduler.fault = "freezes after";
      this.#watch(scheduler);
      return;
    }
    scheduler.freeze();
    this.#takeFrom(scheduler);
  }

  #takeFrom(scheduler: Scheduler): void {
    const { chance, database, time } = this.#world;
    time.after(chance.between(100, 3000), () => {
      // A scheduler that has taken the session over meanwhile keeps it.
      if (this.isOver || this.current !== scheduler) return;
      for (const { session_id } of database.rows) database.takeFromHolder(session_id);
      scheduler.isFenced = true;
      this.current = undefined;
      this.#takeUp();
      time.after(chance.between(0, 8000), () => scheduler.thaw());
    });
  }

  #jump(): void {
    const { chance, time } = this.#world;
    if (chance.chance(0.5)) {
      const ms = chance.pick([3000, 60_000, DAY_MS]);
      time.sleep(ms);
      this.#world.log(() => `the machine slept for ${ms} ms`);
      return;
    }
    const ms = chance.pick([-DAY_MS, -30_000, -500, 500, 30_000, DAY_MS, 3650 * DAY_MS]);
    time.jump(ms);
    this.#world.log(() => `the wall clock jumps by ${ms} ms`);
  }

  #killAgent(): void {
    const { chance, processes } = this.#world;
    const outside = processes.working.filter((process) => !process.inside);
    if (outside.length === 0) return;
    const victim = chance.pick(outside);
    this.#world.log(() => `${victim.who} is killed`);
    processes.end(victim, { code: null, signal: "SIGKILL" });
  }

  #takeUpLater(): void {
    this.#world.time.after(this.#world.chance.between(1, 5000), () => {
      if (!this.isOver && (this.current === undefined || this.current.isDead)) this.#takeUp();
    });
  }

  #takeUp(change: Change = {}): void {
    const row = this.#store.session(SESSION_ID);
    if (!row.ok || row.value.last_sequence === 0) this.begin();
    else this.#start((scheduler, patient) => scheduler.resume(patient, change));
  }

  #start(work: (scheduler: Scheduler, patient: boolean) => Promise<Ended>): void {
    const { chance, scenario } = this.#world;
    const scheduler = new Scheduler(this.#world, `S${this.#all.length + 1}`, this.#mode, this.#agentOf);
    this.#all.push(scheduler);
    this.current = scheduler;
    this.#world.log(() => `${scheduler.name} starts`);
    void work(scheduler, chance.chance(scenario.patience)).then((ended) => this.#onEnd(scheduler, ended));
  }

  #onEnd(scheduler: Scheduler, ended: Ended): void {
    const { processes } = this.#world;
    if (scheduler.isDead) return;
    this.#world.log(() => `${scheduler.name} ends: ${ended.ok ? JSON.stringify(ended.value) : ended.error.code}`);
    const mine = processes.living.filter((process) => process.owner === scheduler);
    if (mine.length > 0 && scheduler.session) {
      this.#world.violated(
        "no process is left after the end",
        mine.map(({ who, subject }) => `${who} ${subject}`).join(", "),
      );
    }
    if (ended.ok && this.current === scheduler) compareMemory(this.#world, scheduler);
    scheduler.die();
    if (this.current !== scheduler) return;
    if (ended.ok && ended.value.kind === "closed") {
      this.#closed();
      return;
    }
    const change = ended.ok ? this.#changeAfter() : {};
    const isWaiting = ended.ok && ended.value.kind === "stopped" && ended.value.reason === "waiting";
    this.#takeUpOnce(scheduler, change, isWaiting ? 20 : 0);
  }

  /** Resumes the session after a while. If it waits for a person, that is after an answer, or just to see that it still waits. */
  #takeUpOnce(scheduler: Scheduler, change: Change, patience: number): void {
    this.#world.time.after(this.#world.chance.between(1, 6000), () => {
      if (this.current !== scheduler) return;
      const isTold = this.#world.sessions.some(({ session_id }) => this.#store.inbox.pending(session_id).length > 0);
      if (patience > 0 && !isTold) {
        this.#takeUpOnce(scheduler, change, patience - 1);
      } else this.#takeUp(change);
    });
  }

  /** The change with which the session is resumed: a limit that was reached is raised, sometimes only at the second try. */
  #changeAfter(): Change {
    const figures = this.#store.value(SESSION_ID, "figures", "figures") as unknown as LedgerFigures | undefined;
    if (figures?.stopped?.reason !== "limit" || this.#world.chance.chance(0.2)) return {};
    const { limit } = figures.stopped;
    const more = this.#world.chance.between(1, 30);
    const tokens = limit === "tokens" ? { tokens: figures.input_tokens + figures.output_tokens + more * 50 } : {};
    const usd = limit === "usd" ? { usd: figures.cost_usd + more } : {};
    return { limits: { turns: figures.turns + more, wall_s: 100_000, ...tokens, ...usd } };
  }

  #closed(): void {
    checkClosed(this.#world);
    const report = this.#world.database.lastReport(SESSION_ID);
    if (!report) throw new Error("A closed session has no final report.");
    this.reports.push(report);
    const { scenario, chance, isCalm } = this.#world;
    const tickets = (report["tickets"] ?? []) as { ticket_id: string; status: string }[];
    const errors = tickets.flatMap(({ ticket_id, status }) => (status === "error" ? [ticket_id] : []));
    const failed = errors.length > 0 ? errors : (this.#mode.presentation.worthRetrying?.(report) ?? []);
    const again = failed.length > 0 && !scenario.comparable && !isCalm && this.#reopenings > 0 && chance.chance(0.3);
    if (!again) {
      this.isOver = true;
      return;
    }
    this.#reopenings -= 1;
    const ticket_id = chance.pick(failed);
    const fact = { payload_type: "user_command", payload: { command: "retry", ticket_id } } as const;
    this.#takeUp({ reopen: "retry", fact });
  }

  #input(): NewSessionInput {
    const { config, roles, input, mode, planGiven } = this.#world.scenario;
    const requirement = { payload_type: "requirement", payload: { text: "Do it." } } as const;
    const plan = { payload_type: "plan", payload: { summary: "My plan", tasks: this.#crew.plan.tasks } } as const;
    return {
      session_id: SESSION_ID,
      requirement: "Do it.",
      input: planGiven ? { ...input, plan_given: true } : input,
      config,
      roles,
      // It must be there, or every failure would be one of a workspace that is away. Nothing is written there.
      workspace: "/usr",
      started_by: { user: "ada", host: "here", via: "run" },
      facts: mode !== "schedule" ? [] : planGiven ? [requirement, plan] : [requirement],
    };
  }
}
