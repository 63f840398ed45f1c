import type { TurnRequest } from "../../src/kernel/agent.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Instant } from "../../src/protocol/timestamp.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { NewSessionInput } from "../../src/runtime/create.ts";
import { agentsOf, type Conduct } from "../simulation/agents.ts";
import { MODES } from "../simulation/modes.ts";
import { CALM, scenarioOf } from "../simulation/scenario.ts";
import { type Ended, Scheduler } from "../simulation/scheduler.ts";
import { SESSION_ID, World } from "../simulation/world.ts";

/** What a person sends. */
export type Word = readonly [payload_type: string, payload: JsonObject];

/** A part of a story that one scheduler runs. */
export interface Act {
  /** What a person sends before the scheduler starts. */
  readonly told?: Word;
  readonly waitsForPeople: boolean;
  /** The record after which the scheduler is killed. */
  readonly diesAfter?: (record: LogRecord) => boolean;
}

/** What an agent does in a turn, where it is not usual. */
export type Did = Partial<Conduct>;

/** A session whose agents and people say what is written here. */
export interface Story {
  readonly mode: string;
  readonly input: NewSessionInput;
  readonly acts: readonly Act[];
  /** What agents do in the runs of their turns, one after the other, by `type of the role/subject/message`. */
  readonly conduct: Readonly<Record<string, readonly ((now: Instant) => Did)[]>>;
  /** What people send a while after a record; `time` counts the records of its type about the same ticket from 0. */
  readonly replies: (record: LogRecord, time: number) => readonly Word[];
}

/** Decides what checks find: the first attempt at the schema fails. */
const SEED = 2;

const USUAL = { takes_ms: 2000, says: [], lingers_ms: 0, stubborn: false, result: { refused: [] } };

/** Plays a story in virtual time. Returns the lines of the log as they were after each act. */
export async function play(story: Story): Promise<string[][]> {
  const { config, roles } = story.input;
  const scenario = {
    ...scenarioOf(SEED),
    comparable: true,
    slowCommits: 0,
    misfortunes: CALM,
    outages: [],
    skill: 0.5,
  };
  const world = new World({ ...scenario, config, roles });
  world.isCalm = true;
  const times = new Map<string, number>();
  const count = (what: string): number => {
    const before = times.get(what) ?? 0;
    times.set(what, before + 1);
    return before;
  };
  const conduct = (request: TurnRequest): Conduct => {
    const { role, stamp, payload } = request;
    const asked = `${role.type}/${stamp.subject ?? ""}/${payload.message.payload_type}`;
    const does = story.conduct[asked]?.[count(asked)];
    if (!does) throw new Error(`The story does not say what comes next in ${asked}.`);
    return { ...USUAL, ...does(request.at) };
  };
  const put = ([payload_type, payload]: Word) =>
    world.database.put(SESSION_ID, { payload_type, payload }, { user: "ada", host: "here", via: "terminal" });
  world.database.onCommit = (_, { records }) => {
    for (const { line } of records) {
      const record = JSON.parse(line) as LogRecord;
      const time = count(`${record.payload_type} about ${record.record.ticket_id ?? ""}`);
      for (const word of story.replies(record, time)) world.time.after(3000, () => put(word));
    }
  };
  const logs: string[][] = [];
  for (const [index, act] of story.acts.entries()) {
    if (act.told) put(act.told);
    await playAct(world, story, act, index, conduct);
    logs.push(linesOf(world));
  }
  return logs;
}

async function playAct(
  world: World,
  { mode, input }: Story,
  { waitsForPeople, diesAfter }: Act,
  index: number,
  conduct: (request: TurnRequest) => Conduct,
): Promise<void> {
  const { database, time } = world;
  const agentOf = agentsOf(world, { conduct });
  const scheduler = new Scheduler(world, `S${index + 1}`, MODES.get(mode) as Mode<unknown>, agentOf);
  const ends: Ended[] = [];
  const work = index === 0 ? scheduler.begin(input, waitsForPeople) : scheduler.resume(waitsForPeople);
  void work.then((end) => ends.push(end));
  await settled();
  let seen = database.lastSequence(SESSION_ID);
  while (ends.length === 0 && !scheduler.isDead) {
    if (!time.step()) throw new Error("Nothing is left to happen, but the act is not over.");
    await settled();
    for (; seen < database.lastSequence(SESSION_ID); seen++) {
      const record = database.record(SESSION_ID, seen + 1);
      if (record && diesAfter?.(record)) time.after(700, () => scheduler.die());
    }
  }
  const [end] = ends;
  if (end && !end.ok) throw new Error(end.error.message);
  scheduler.die();
  // The next scheduler starts a while later.
  time.after(5000, () => {});
  time.step();
}

function linesOf({ database }: World): string[] {
  return Array.from({ length: database.lastSequence(SESSION_ID) }, (_, index) => index + 1).map(
    (sequence) => database.connect().record(SESSION_ID, sequence) ?? "",
  );
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A directory that every machine has: failed checks count only where the workspace is. */
export const WORKSPACE = "/";

export function configuration(more: Partial<ResolvedConfiguration>): ResolvedConfiguration {
  return { ...CONFIGURATION_DEFAULTS, workspace: WORKSPACE, ...more } as ResolvedConfiguration;
}
