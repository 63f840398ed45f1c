import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { awaitShare, countLine, hasShare } from "../../src/agents/cli/loop-share.ts";
import { scratchDirectory } from "./scratch.ts";
import { supervise } from "./supervised.ts";

const LONGEST = 8 * 1024 * 1024;
/** A share of short lines, before and after the moment that tells turns apart here. */
const SHARES = 2 * 128;

describe("one turn of the event loop", () => {
  test("handles a bounded number of lines, however many programs flood", async () => {
    const inTurn = [0];
    const heard: boolean[] = [];
    const floods = await Promise.all(
      Array.from({ length: 4 }, () =>
        supervise(scratchDirectory(), "exec yes", {}, () => {
          inTurn.push((inTurn.pop() ?? 0) + 1);
          heard.push(hasShare());
          return undefined;
        }),
      ),
    );
    for (const { run } of floods) run.give("");
    while (heard.length < 50_000) {
      await nextTurn();
      inTurn.push(0);
    }
    expect(Math.max(...inTurn)).toBeLessThanOrEqual(SHARES);
    // However dear the line before it was, and whichever program's.
    expect(heard).not.toContain(false);
  });

  test("goes to the program of which the least has been handled, and to the next in the next turn", async () => {
    await nextTurn();
    const told: string[] = [];
    const wait = (name: string, bytes: number) =>
      awaitShare(
        () => bytes,
        () => {
          told.push(name);
          countLine(LONGEST);
        },
      );
    wait("flood", 60_000_000);
    wait("another", 50_000_000);
    wait("quiet", 100);
    expect(told).toEqual([]);
    for (const expected of [["quiet"], ["quiet", "another"], ["quiet", "another", "flood"]]) {
      await nextTurn();
      expect(told).toEqual(expected);
      expect(hasShare()).toBe(false);
    }
  });

  test("ends for the lines of a chunk where its share ends, and none of them is lost", async () => {
    const seen: string[] = [];
    const script = "read -r _; seq 1 20000";
    const { run } = await supervise(scratchDirectory(), script, {}, (_, bytes) => {
      seen.push(bytes.toString());
      return undefined;
    });
    run.give("go\n");
    expect((await run.ended).cause).toBe("exited");
    expect(seen).toEqual(Array.from({ length: 20_000 }, (_, index) => `${index + 1}`));
  });
});
