import { existsSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { until } from "../commands/rig.ts";
import { carryOut, holderOf } from "./fate.ts";
import { begin, cleanUp, newPlace, type Place, resume, start } from "./place.ts";
import { holding, WORK } from "./scenarios.ts";
import { frozen } from "./freeze.ts";
import { violationsOf } from "./violations.ts";
import { living } from "../processes.ts";

const LIMIT_MS = 120_000;

afterEach(cleanUp);

/** A session whose first scheduler died after its only worker had begun. */
async function interrupted(): Promise<Place> {
  const place = newPlace(holding(1));
  const first = await start(place, begin(place), { crash_at: "turn_given:2" }).ended;
  expect(first.signal).toBe("SIGKILL");
  await until("its worker to begin", () => marks(place).some((mark) => /start hold/.test(mark)));
  return place;
}

function marks({ workspace }: Place): string[] {
  const file = join(workspace, "marks");
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}

describe("a session", () => {
  it(
    "that fifty processes resume at once is run by one, and the others name it",
    async () => {
      const place = await interrupted();
      const all = Array.from({ length: 50 }, () => start(place, ["resume", place.session_id, "--no-input"]));
      const ended = new Set<number | undefined>();
      for (const { child, ended: end } of all) void end.then(() => ended.add(child.pid));
      await until("all but one to end", () => ended.size === 49, 60_000);
      const owner = all.find(({ child }) => !ended.has(child.pid));
      await until(
        "the worker to begin again",
        () => marks(place).filter((mark) => /start hold/.test(mark)).length === 2,
      );
      writeFileSync(join(place.workspace, "go"), "");
      expect((await owner?.ended)?.code).toBe(0);
      const others = await Promise.all(all.filter((one) => one !== owner).map((one) => one.ended));
      const holder = `process ${owner?.child.pid} on ${os.hostname()}`;
      expect(others.filter(({ code, stderr }) => code !== 7 || !stderr.includes(holder))).toEqual([]);
      const outcome = { kills: ["turn_given" as const], lives: 2, words: 0, violations: [] };
      expect(await violationsOf(place, outcome, undefined)).toEqual([]);
    },
    LIMIT_MS,
  );

  it("names its new holder before that one is written down", async () => {
    const place = await interrupted();
    const next = start(place, resume(place), { crash_at: "lock_held:1:SIGSTOP" });
    await until("it to have the lock", () => frozen(next.child.pid));
    const refused = await start(place, ["resume", place.session_id, "--no-input"]).ended;
    expect(refused).toMatchObject({ code: 7 });
    expect(refused.stderr).toContain(`process ${next.child.pid} on ${os.hostname()}`);
    const status = await start(place, ["status", place.session_id]).ended;
    expect(status).toMatchObject({ code: 0 });
    expect(status.stdout).toContain(`is running (pid ${next.child.pid})`);
    writeFileSync(join(place.workspace, "go"), "");
    next.child.kill("SIGCONT");
    expect((await next.ended).code).toBe(0);
  });

  it(
    "is taken over from a working scheduler, which stops by itself",
    async () => {
      const place = newPlace(holding(1));
      const first = start(place, begin(place));
      await until("the worker to begin", () => marks(place).some((mark) => /start hold/.test(mark)));
      const second = start(place, [...resume(place), "--take-over"]);
      expect(await first.ended).toMatchObject({ code: 143 });
      await until("the other to hold it", () => holderOf(place) === second.child.pid);
      writeFileSync(join(place.workspace, "go"), "");
      expect((await second.ended).code).toBe(0);
      expect(await violationsOf(place, { kills: [], lives: 2, words: 0, violations: [] }, undefined)).toEqual([]);
    },
    LIMIT_MS,
  );

  it.each(["before_commit:5", "turn_given:2", "lock_held:1"])(
    "is taken over from a scheduler frozen at %s",
    async (point) => {
      const place = newPlace(WORK);
      if (point === "lock_held:1") await start(place, begin(place), { crash_at: "turn_given:1" }).ended;
      const args = point === "lock_held:1" ? resume(place) : begin(place);
      const first = start(place, args, { crash_at: `${point}:SIGSTOP` });
      await until("it to freeze", () => frozen(first.child.pid));
      const refused = await start(place, resume(place)).ended;
      expect(refused).toMatchObject({ code: 7 });
      const second = await start(place, [...resume(place), "--take-over"]).ended;
      expect(second).toMatchObject({ code: 0, stderr: "" });
      expect(await first.ended).toMatchObject(point === "lock_held:1" ? { signal: "SIGTERM" } : { code: 143 });
      expect(living(place.session_id)).toEqual([]);
      expect(
        await violationsOf(place, { kills: ["turn_given"], lives: 3, words: 0, violations: [] }, undefined),
      ).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    "can be read by eight processes without blocking its owner",
    async () => {
      const place = newPlace(WORK);
      const looks: string[][] = [
        ["status", place.session_id],
        ["status", "--json"],
        ["replay", place.session_id],
        ["log", place.session_id],
        ["inbox"],
      ];
      const over = new AbortController();
      const look = async (first: number): Promise<string[]> => {
        const said: string[] = [];
        for (let turn = first; !over.signal.aborted; turn += 1) {
          const { code, stdout, stderr } = await start(place, looks[turn % looks.length] ?? []).ended;
          if (code !== 0 || /SQLITE_BUSY|locked/.test(stderr)) said.push(`${code}: ${stdout}${stderr}`);
        }
        return said;
      };
      const first = start(place, begin(place));
      const opened = join(place.home, "logs", place.session_id, "000001-session_opened.json");
      await until("the session to be there", () => existsSync(opened));
      const readers = Array.from({ length: 8 }, (_, index) => look(index));
      expect(await first.ended).toMatchObject({ code: 0, stderr: "" });
      over.abort();
      expect((await Promise.all(readers)).flat()).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    "of ten slow workers is killed at any moment, and resumed",
    async () => {
      const place = newPlace(holding(10));
      const first = start(place, begin(place));
      await until("ten workers to begin", () => marks(place).filter((mark) => /start hold/.test(mark)).length === 10);
      first.child.kill("SIGKILL");
      await first.ended;
      const left = living(place.session_id);
      expect(left.length).toBeGreaterThanOrEqual(10);
      writeFileSync(join(place.workspace, "go"), "");
      const outcome = await carryOut(place, [{ after_ms: 700 }, { after_ms: 500 }]);
      expect(await violationsOf(place, { ...outcome, kills: ["random", ...outcome.kills] }, undefined)).toEqual([]);
    },
    LIMIT_MS,
  );
});
