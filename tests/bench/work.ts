import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import { verifyFolder } from "../../src/log/verify.ts";
import { verifySession } from "../../src/runtime/proof.ts";
import { listFolder } from "../../src/log/reader.ts";
import { keepYoungSmall } from "../../src/runtime/memory.ts";
import { Recording } from "../../src/ui/player/recording.ts";
import { type ChildrenOrder, holdChildren } from "./children.ts";
import { type CopiesOrder, measureCopies } from "./copies-work.ts";
import { type ScreenOrder, showUpdates } from "./dashboard-screen.ts";
import { type FloorOrder, loadFloor, readFloor, writeFloor } from "./floors.ts";
import { besideHostile, type HostileOrder } from "./hostile-session.ts";
import { median } from "./measure.ts";
import { runSession, type SessionOrder } from "./sessions.ts";

/** The figures of a verification: ms, and peak memory in MiB. */
export interface Checked {
  readonly working: number;
  readonly rss_peak: number;
}

/** The figures of the replay player: ms, and peak memory in MiB. */
export interface Played {
  /** To list the folder, until the first record can be shown. */
  readonly opened: number;
  /** To read all records. */
  readonly working: number;
  /** To go to places all over the log, back and forth: the median, and the slowest. */
  readonly seek: number;
  readonly slowest: number;
  /** To go back by one record. */
  readonly back: number;
  readonly rss_peak: number;
}

/** The pieces of work that run in a process of their own; each result is printed as one line of JSON. */
const WORK: Readonly<Record<string, (input: never) => unknown>> = {
  session: (order: SessionOrder) => runSession(order),
  "write-floor": (order: FloorOrder) => writeFloor(order),
  "read-floor": ({ folder }: { folder: string }) => readFloor(folder),
  "load-floor": ({ home }: { home: string }) => loadFloor(home),
  children: (order: ChildrenOrder) => holdChildren(order),
  copies: (order: CopiesOrder) => measureCopies(order),
  dashboard: (order: ScreenOrder) => showUpdates(order),
  hostile: (order: HostileOrder) => besideHostile(order),
  chain: ({ folder }: { folder: string }) => checked(() => verifyFolder(folder)),
  player: ({ folder }: { folder: string }) => playedFigures(folder),
  replay: ({ folder }: { folder: string }) =>
    checked(() => verifySession(folder, new Map([["schedule", scheduleMode as unknown as Mode<unknown>]]))),
};

/** So many places are gone to. */
const SEEKS = 40;

function playedFigures(folder: string): Played {
  keepYoungSmall();
  const began = performance.now();
  const listing = listFolder(folder);
  if (!listing.ok) throw new Error(listing.error.message);
  const recording = new Recording(folder, listing.value, false, (_, record) => record);
  const opened = performance.now() - began;
  recording.readMore(Number.POSITIVE_INFINITY);
  const working = performance.now() - began;
  const count = recording.tape.sequences.length;
  const timed = (place: number) => {
    const from = performance.now();
    recording.modelAt(place);
    recording.eventsAt(place);
    return performance.now() - from;
  };
  // Steps that have no factor in common with the log's length come everywhere.
  const seeks = Array.from({ length: SEEKS }, (_, index) => timed((index * 7_919) % count));
  const backs = Array.from({ length: SEEKS }, (_, index) => timed(Math.floor(count / 2) - index));
  const rss_peak = process.resourceUsage().maxRSS / 1024;
  return { opened, working, seek: median(seeks), slowest: Math.max(...seeks), back: median(backs), rss_peak };
}

function checked(check: () => { ok: boolean; value?: { ok: boolean; problems: readonly unknown[] } }): Checked {
  const began = performance.now();
  const proof = check();
  const working = performance.now() - began;
  if (!proof.ok || proof.value?.ok !== true) throw new Error(`the log does not hold: ${JSON.stringify(proof)}`);
  return { working, rss_peak: process.resourceUsage().maxRSS / 1024 };
}

const [name = "", input = "{}"] = process.argv.slice(2);
const work = WORK[name];
if (work === undefined) throw new Error(`there is no measured work "${name}"`);
console.log(JSON.stringify(await work(JSON.parse(input) as never)));
