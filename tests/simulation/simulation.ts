import type { JsonObject } from "../../src/lib/json.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import { replayDecisions } from "../../src/runtime/replay.ts";
import { agentsOf } from "./agents.ts";
import { Crew } from "./crew.ts";
import { Driver } from "./driver.ts";
import { FamilyRules } from "./family-rules.ts";
import { MODES } from "./modes.ts";
import { People } from "./people.ts";
import { CALM, scenarioOf } from "./scenario.ts";
import { compareMemory, seeAsks, seeChanges, seeClosed, seeRow, seeWork } from "./state-rules.ts";
import { type Violation, World } from "./world.ts";

/** Events after which nothing bad happens any more, and after which a session must have come to its end. */
const CALM_AFTER = 3000;
const OVER_AFTER = 20_000;

/** Events that are waited for after the end. */
const LATE_EVENTS = 100;

/** One session from its beginning to its last end. */
export interface Execution {
  readonly violation: Violation | undefined;
  readonly events: number;
  readonly records: number;
  readonly crashes: number;
  /** How many child sessions have ended. */
  readonly children: number;
  /** It went on for so long that all became calm in the midst of it: from then on agents do otherwise than their seed has it. */
  readonly isCalmed: boolean;
  /** The final report of each close. */
  readonly reports: readonly JsonObject[];
}

/** A bug in the runtime shows as an exception that nobody catches; while a seed runs it is that seed's. */
let uncaught: ((error: unknown) => void) | undefined;
process.on("unhandledRejection", (error) => {
  if (!uncaught) throw error;
  uncaught(error);
});

/**
 * Lives through the session of a seed in virtual time; with `undisturbed` nothing befalls its schedulers. The trace gets a line for
 * each thing that happens, the same bytes every time.
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
  let commits = 0;
  world.processes.onWork = (process) => seeWork(world, process);
  world.database.onCommit = (lease, commit) => {
    rules.see(lease, commit);
    seeChanges(world, commit);
    seeRow(world, lease, commit);
    seeAsks(world, commit);
    people.see(lease, commit);
    commits += 1;
    if (commits % 8 === 0) compareMemory(world, driver.current);
  };
  uncaught = (error) =>
    world.broken("no exception escapes", error instanceof Error ? (error.stack ?? "") : String(error));
  driver.begin();
  await everythingTakenIn();
  let events = 0;
  while (!world.violation && !driver.isOver) {
    if (!step(world, events)) break;
    events += 1;
    await everythingTakenIn();
    // What comes of it by itself, without another event: a session that is told to stop waits for nobody if nobody works.
    if (driver.misfortune()) await everythingTakenIn();
  }
  // Schedulers that were taken over may have something to say yet; then whoever is left is ended.
  for (let late = 0; !world.violation && late < LATE_EVENTS && world.time.step(); late++) await everythingTakenIn();
  driver.letGo();
  while (!world.violation && world.time.step()) await everythingTakenIn();
  if (!world.violation) seeEnd(world, rules, people);
  uncaught = undefined;
  return {
    violation: world.violation,
    events,
    records: rules.records,
    crashes: driver.crashes,
    children: rules.children,
    isCalmed: world.isCalm,
    reports: driver.reports,
  };
}

function step(world: World, events: number): boolean {
  if (events === CALM_AFTER) {
    world.isCalm = true;
    world.tell(() => "from here on all is calm");
  }
  if (events > OVER_AFTER) {
    world.broken("every session comes to an end", `it is still open after ${events} events`);
    return false;
  }
  let happened: boolean;
  try {
    happened = world.time.step();
  } catch (error) {
    world.broken("no exception escapes", error instanceof Error ? (error.stack ?? "") : String(error));
    return false;
  }
  if (!happened) world.broken("every session comes to an end", "nothing will ever happen again, and it is open");
  return happened;
}

/** Promises, and whatever they lead to at once. */
function everythingTakenIn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function seeEnd(world: World, rules: FamilyRules, people: People): void {
  const { living } = world.processes;
  if (living.length > 0) world.broken("no process is left after the end", living.map(({ who }) => who).join(", "));
  const store = world.database.connect();
  const pending = new Set(
    world.sessions.flatMap(({ session_id }) => store.inbox.pending(session_id).map(({ actor }) => actor.via)),
  );
  for (const [mark, [payload_type]] of people.words) {
    const times = rules.count(mark) + (pending.has(mark) ? 1 : 0);
    if (times !== 1) world.broken("every fact is recorded once", `${mark} (${payload_type}) stands ${times} times`);
  }
  for (const { session_id, last_sequence } of world.sessions) {
    const sequences = Array.from({ length: last_sequence }, (_, index) => index + 1);
    const replayed = replayDecisions(sequences, (sequence) => store.record(session_id, sequence) ?? "", MODES);
    const [wrong] = replayed?.problems ?? [{ sequence: 1, what: "it cannot be compared" }];
    const broken = (seen: string) => world.broken("a replay decides the same", `${session_id}: ${seen}`);
    if (wrong) broken(`record ${wrong.sequence}: ${wrong.what}`);
    if (replayed?.awaited) broken(`${replayed.awaited} decided records are missing`);
  }
  seeClosed(world);
}
