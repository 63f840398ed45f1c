import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import { verifyFolder } from "../../src/log/verify.ts";
import { verifySession } from "../../src/runtime/proof.ts";
import { type ChildrenOrder, holdChildren } from "./children.ts";
import { type ScreenOrder, showUpdates } from "./dashboard-screen.ts";
import { type FloorOrder, loadFloor, readFloor, writeFloor } from "./floors.ts";
import { runSession, type SessionOrder } from "./sessions.ts";

/** The figures of a verification: ms, and peak memory in MiB. */
export interface Checked {
  readonly working: number;
  readonly rss_peak: number;
}

/** The pieces of work that run in a process of their own; each result is printed as one line of JSON. */
const WORK: Readonly<Record<string, (input: never) => unknown>> = {
  session: (order: SessionOrder) => runSession(order),
  "write-floor": (order: FloorOrder) => writeFloor(order),
  "read-floor": ({ folder }: { folder: string }) => readFloor(folder),
  "load-floor": ({ home }: { home: string }) => loadFloor(home),
  children: (order: ChildrenOrder) => holdChildren(order),
  dashboard: (order: ScreenOrder) => showUpdates(order),
  chain: ({ folder }: { folder: string }) => checked(() => verifyFolder(folder)),
  replay: ({ folder }: { folder: string }) =>
    checked(() => verifySession(folder, new Map([["schedule", scheduleMode as unknown as Mode<unknown>]]))),
};

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
