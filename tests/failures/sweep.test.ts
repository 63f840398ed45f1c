import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import {
  ALL,
  type Call,
  copied,
  type Done,
  type Fault,
  faultsOfEnd,
  faultsOfMessage,
  faultsOfRest,
  leave,
  newScene,
  reportOf,
  sample,
  type Scene,
  atOnce,
  TRIALS_TIMEOUT_MS,
} from "./scene.ts";

/**
 * One session, run once for each call that changes its storage or asks its database, with that call failing. All of
 * them with `BOSUN_FAILURES=all`, in four ways; else a sample that touches every kind of call and every place that
 * makes one.
 */
const KINDS = ["full", "broken", "read_only"] as const;

/** Calls whose failure does not end the session: console output, the lock's holder, the list of homes, modes, the state that it leaves when it stops. */
const COURTESY = [
  /^fs\.\w+ \S+\/output(\/|$)/,
  /^fs\.\w+ \S+\/\.local(\/state(\/bosun(\/homes.*)?)?)?$/,
  /^fs\.chmod /,
  /^sqlite\.run UPDATE sessions SET owner_pid = NULL/,
  /^fs\.\w+ \S+\/state\.sha256$/,
];

/** Calls that may belong to those: an open file has no name, all transactions look alike, and reporters read the session's clock. */
const UNKNOWN = /^fs\.write fd|^sqlite\.exec (BEGIN IMMEDIATE|COMMIT)|^sqlite\.get SELECT value FROM state/;

let undisturbed: JsonObject;
/** Of the whole session, and of one that is taken up where it asked its question. */
let calls: { readonly run: readonly Call[]; readonly resume: readonly Call[] };
let waiting: Scene;

beforeAll(async () => {
  const scene = newScene();
  waiting = newScene();
  const done = await scene.run({});
  const stopped = await waiting.command(waiting.beginning);
  const copy = copied(waiting);
  const resumed = await copy.resume({});
  const ends = [done, stopped, resumed].map(({ code, stderr }) => `${code} ${stderr}`).join();
  if (ends !== "0 ,4 ,0 ") throw new Error(`nothing failed, and yet: ${ends}`);
  undisturbed = reportOf(scene);
  calls = { run: done.calls, resume: resumed.calls };
  for (const each of [scene, copy]) leave(each);
});

afterAll(() => leave(waiting));

/** What is wrong after the session has met a fault and was taken up again, in words; nothing if all is well. */
async function trial(command: "run" | "resume", fault: Fault & { readonly at: number }): Promise<string[]> {
  const scene = command === "run" ? newScene() : copied(waiting);
  try {
    return await faultsOfTrial(scene, await scene[command](fault), fault);
  } finally {
    leave(scene);
  }
}

async function faultsOfTrial(scene: Scene, done: Done, fault: Fault & { readonly at: number }): Promise<string[]> {
  const call = done.calls[fault.at - 1];
  // How often the inbox is looked at depends on the clock, so there may be a few calls less.
  if (call === undefined) return done.code === 0 ? [] : [`exit code ${done.code} though nothing failed`];
  const faults = [...faultsOfCall(scene, done, call, fault), ...(await faultsAfter(scene, done))];
  return faults.map((what) => `call ${fault.at} (${fault.as} ${fault.how}: ${call.kind} ${call.what}): ${what}`);
}

function faultsOfCall(scene: Scene, done: Done, { kind, what }: Call, { how }: Fault): string[] {
  const name = `${kind} ${what}`;
  const courtesy = how !== "ever" && COURTESY.some((pattern) => pattern.test(name));
  const faults = faultsOfEnd(done, UNKNOWN.test(name) ? [0, 3] : [courtesy ? 0 : 3]);
  return done.code === 3 ? [...faults, ...faultsOfMessage(scene, done)] : faults;
}

/** As a person goes on: `resume`, and `run` again where nothing was begun. */
async function faultsAfter(scene: Scene, done: Done): Promise<string[]> {
  if (done.code !== 0) {
    const resumed = await scene.resume();
    const last = resumed.code === 2 ? await scene.run() : resumed;
    const faults = faultsOfEnd(last, [0]);
    if (faults.length > 0) return [...faults.map((fault) => `afterwards ${fault}`), last.stderr];
  }
  const same = isDeepStrictEqual(reportOf(scene), undisturbed);
  return [...(same ? [] : ["another final report"]), ...(await faultsOfRest(scene))];
}

/** All the numbers of a command's calls, or few. */
function numbers(command: "run" | "resume", every: number): number[] {
  if (ALL) return calls[command].map((_, index) => index + 1);
  return sample(calls[command]).filter((_, index) => index % every === 0);
}

describe("a failing storage call", () => {
  it.each([
    ["run", "before", 3],
    ["run", "half", 12],
    ["run", "after", 12],
    ["run", "ever", 12],
    ["resume", "before", 8],
  ] as const)(
    "in %s (%s) stops the session once or not at all, and it can be resumed",
    async (command, how, every) => {
      const tried = numbers(command, every);
      expect(tried.length).toBeGreaterThan(4);
      // Those that are taken up share their workspace.
      const work = (at: number) => trial(command, { at, as: KINDS[at % KINDS.length] ?? "full", how });
      expect(await atOnce(tried, work, command === "run" ? 2 : 1)).toEqual([]);
    },
    TRIALS_TIMEOUT_MS,
  );

  it.each([
    ["before", "SELECT session_id, mode"],
    ["ever", ".partial"],
  ] as const)(
    "(%s) behaves so wherever it concerns %s",
    async (how, part) => {
      const concerned = calls.run.flatMap(({ what }, index) => (what.includes(part) ? [index + 1] : []));
      const tried = concerned.filter((_, index) => ALL || index % 2 === 0);
      expect(tried.length).toBeGreaterThan(2);
      const work = (at: number) => trial("run", { at, as: KINDS[at % KINDS.length] ?? "full", how });
      expect(await atOnce(tried, work, 2)).toEqual([]);
    },
    TRIALS_TIMEOUT_MS,
  );
});
