import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../commands/rig.ts";
import { randomFrom } from "./deaths.ts";
import { holderOf } from "./fate.ts";
import { cleanUp, newPlace, type Place, start } from "./place.ts";
import { WORK } from "./scenarios.ts";
import { killStray, living } from "../processes.ts";

const SEED = Number(process.env["BOSUN_SEED"] ?? Date.now() % 1_000_000);

/** About as many records as the session has before its last task. */
const RECORDS = 45;

afterEach(cleanUp);

/** The demo's session, once it exists. */
function sessionIn({ home }: Place): string | undefined {
  try {
    return readdirSync(join(home, "logs"))[0];
  } catch {
    return undefined;
  }
}

function records({ home, session_id }: Place): number {
  return readdirSync(join(home, "logs", session_id)).filter((name) => name.endsWith(".json")).length;
}

describe("the demo", () => {
  it(`leaves a session that resumes when it is killed with its scheduler (seed ${SEED})`, async () => {
    const empty = newPlace(WORK);
    let program = 0;
    const hear = (line: string) => {
      const event = JSON.parse(line) as { type: string; pid: number };
      if (event.type === "scratch") program = event.pid;
    };
    const demo = start(empty, ["demo", resolve(import.meta.dirname, "../.."), "--keep", "--json"], { hear });
    await until("the session to begin", () => sessionIn(empty) !== undefined, 60_000);
    const place = { ...empty, session_id: sessionIn(empty) ?? "" };
    const wanted = 3 + Math.floor(randomFrom(SEED)() * RECORDS);
    await until(`its record ${wanted}`, () => records(place) >= wanted, 60_000);
    const scheduler = holderOf(place);
    killStray(program);
    if (scheduler !== undefined) killStray(scheduler);
    await demo.ended;
    await until("no process to hold the session", () => holderOf(place) === undefined);
    const resumed = await start(place, ["resume", place.session_id, "--no-input", "--unanswered", "default"]).ended;
    expect(resumed).toMatchObject({ code: 0 });
    expect(living(place.session_id)).toEqual([]);
    const proved = await start(place, ["replay", place.session_id, "--verify", "--json"]).ended;
    expect(JSON.parse(proved.stdout)).toMatchObject({ ok: true, decisions: "ok", completeness: "closed" });
  }, 120_000);
});
