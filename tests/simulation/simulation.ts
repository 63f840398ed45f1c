import type { JsonObject } from "../../src/lib/json.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import { replayDecisions } from "../../src/runtime/replay.ts";
import { agentsOf } from "./agents.ts";
import { Crew } from "./crew.ts";
import { Driver } from "./driver.ts";
import { FamilyRules } from "./family-rules.ts";
import { ModelRules } from "./model-rules.ts";
import { MODES } from "./modes.ts";
import { People } from "./people.ts";
import { CALM, scenarioOf } from "./scenario.ts";
import { type PlayCounts, Plays } from "./plays.ts";
import { checkAttempts } from "./attempt-rules.ts";
import { compareMemory, checkAsks, checkChanges, checkClosed, checkRow, checkWork } from "./state-rules.ts";
import { type Violation, World } from "./world.ts";

/** After this many events misfortunes end, and after this many the session must be over. */
const CALM_AFTER = 3000;
const OVER_AFTER = 20_000;

/** How many more events are run after the end. */
const LATE_EVENTS = 100;

/** What one run of a seed gave. */
export interface Execution {
  readonly violation: Violation | undefined;
  readonly events: number;
  readonly records: number;
  readonly crashes: number;
  /** How many child sessions have ended. */
  readonly children: number;
  readonly plays: PlayCounts;
  /** The run took so long that misfortunes were ended. Agents then behave better than their seed says, so runs cannot be compared. */
  readonly isCalmed: boolean;
  /** The final reports, one for each time the session was closed. */
  readonly reports: readonly JsonObject[];
}

/** Reports an uncaught exception of the runtime as a violation of the seed that is running. */
let uncaught: ((error: unknown) => void) | undefined;
process.on("unhandledRejection", (error) => {
  if (!uncaught) throw error;
  uncaught(error);
});

/**
 * Runs the session of a seed in virtual time. With `undisturbed`, its schedulers meet no misfortunes. The trace gets a line for each
 * event; it is the same for every run of the seed, byte for byte.
 */
export async function simulate(seed: number, undisturbed: boolean, trace?: string[]): Promise<Execution> {
  const drawn = scenarioOf(seed);
  const world = new World(undisturbed ? { ...drawn, misfortunes: CALM, slowCommits: 0 } : drawn, trace);
  const crew = new Crew(world);
  const people = new People(world, crew);
  const mode = MODES.get(drawn.mode) as Mode<unknown>;
  const driver = new Driver(world, mode, crew, agentsOf(world, crew));
  const rules = new FamilyRules(world);
  rules.onPlan = (tasks) => crew.plan.replace(tasks);
  const shown = new ModelRules(world);
  const plays = new Plays();
  let commits = 0;
  world.processes.onWork = (process) => checkWork(world, process);
  world.database.onCommit = (lease, commit) => {
    rules.check(lease, commit);
    checkChanges(world, commit);
    checkAttempts(world, lease, commit);
    checkRow(world, lease, commit);
    checkAsks(world, commit);
    shown.check(lease, commit);
    people.observe(lease, commit);
    plays.observe(commit);
    commits += 1;
    if (commits % 8 === 0) compareMemory(world, driver.current);
  };
  uncaught = (error) =>
    world.violated("no exception escapes", error instanceof Error ? (error.stack ?? "") : String(error));
  driver.begin();
  await settled();
  let events = 0;
  while (!world.violation && !driver.isOver) {
    if (!step(world, events)) break;
    events += 1;
    await settled();
    // A misfortune can have consequences without another event: a session that is told to stop and has no open turns stops.
    if (driver.misfortune()) await settled();
  }
  // Schedulers that were taken over may still try to write. Then the rest is ended.
  for (let late = 0; !world.violation && late < LATE_EVENTS && world.time.step(); late++) await settled();
  driver.endAll();
  while (!world.violation && world.time.step()) await settled();
  if (!world.violation) checkEnd(world, rules, people);
  uncaught = undefined;
  return {
    violation: world.violation,
    events,
    records: rules.records,
    crashes: driver.crashes,
    children: rules.children,
    plays: plays.counts,
    isCalmed: world.isCalm,
    reports: driver.reports,
  };
}

function step(world: World, events: number): boolean {
  if (events === CALM_AFTER) {
    world.isCalm = true;
    world.log(() => "from here on all is calm");
  }
  if (events > OVER_AFTER) {
    world.violated("every session comes to an end", `it is still open after ${events} events`);
    return false;
  }
  let happened: boolean;
  try {
    happened = world.time.step();
  } catch (error) {
    world.violated("no exception escapes", error instanceof Error ? (error.stack ?? "") : String(error));
    return false;
  }
  if (!happened) world.violated("every session comes to an end", "no event is left, but it is open");
  return happened;
}

/** Resolves when all settled promises have had their consequences. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function checkEnd(world: World, rules: FamilyRules, people: People): void {
  const { living } = world.processes;
  if (living.length > 0) world.violated("no process is left after the end", living.map(({ who }) => who).join(", "));
  const store = world.database.connect();
  const pending = new Set(
    world.sessions.flatMap(({ session_id }) => store.inbox.pending(session_id).map(({ actor }) => actor.via)),
  );
  for (const [mark, [payload_type]] of people.words) {
    const times = rules.count(mark) + (pending.has(mark) ? 1 : 0);
    if (times !== 1)
      world.violated("every fact is recorded once", `${mark} (${payload_type}) is recorded ${times} times`);
  }
  for (const { session_id, last_sequence } of world.sessions) {
    const sequences = Array.from({ length: last_sequence }, (_, index) => index + 1);
    const replayed = replayDecisions(sequences, (sequence) => store.record(session_id, sequence) ?? "", MODES);
    const [wrong] = replayed?.problems ?? [{ sequence: 1, what: "it cannot be compared" }];
    const broken = (seen: string) => world.violated("a replay decides the same", `${session_id}: ${seen}`);
    if (wrong) broken(`record ${wrong.sequence}: ${wrong.what}`);
    if (replayed?.awaited) broken(`${replayed.awaited} decided records are missing`);
  }
  checkClosed(world);
}
