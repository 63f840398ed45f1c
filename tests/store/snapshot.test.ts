import { describe, expect, onTestFinished, test } from "vitest";
import { openReader, openStore } from "../../src/store/sqlite-store.ts";
import { put, session } from "./contract-rig.ts";
import { OWNER } from "./records.ts";
import { temporaryDirectory } from "./rig.ts";
import { value } from "../results.ts";

/** A session whose state and two values are always committed together, and a reader. */
async function sessionWithReader() {
  const home = temporaryDirectory();
  const store = value(openStore(home));
  onTestFinished(() => store.close());
  value(await store.create(session("s1")));
  const lease = value(await store.acquire("s1", OWNER));
  const commit = async (text: string) => {
    const changes = [put("ticket", "1", text), put("turn", "1", text)];
    value(await store.commit(lease, { expected: 0, records: [], changes, session: { state: text } }));
  };
  await commit("before");
  const reader = value(openReader(home));
  onTestFinished(() => reader.close());
  return { commit, reader };
}

describe("a snapshot", () => {
  test("shows a session and all its values as of one moment, despite commits", async () => {
    const { commit, reader } = await sessionWithReader();
    const read = async (between: () => Promise<void>) => {
      const stored = value(await reader.load("s1"));
      await between();
      const seen: unknown[] = [stored.session.state];
      for (const row of stored.rows()) {
        seen.push(row.value);
        await between();
      }
      return [...seen, value(reader.session("s1")).state];
    };
    expect(await reader.snapshot(() => read(() => commit("after")))).toEqual(["before", "before", "before", "before"]);
    expect(await read(async () => {})).toEqual(["after", "after", "after", "after"]);
  });

  test("ends when reading fails", async () => {
    const { commit, reader } = await sessionWithReader();
    const failing = reader.snapshot(async () => {
      expect(value(reader.session("s1")).state).toBe("before");
      throw new Error("reading failed");
    });
    await expect(failing).rejects.toThrow("reading failed");
    await commit("after");
    expect(value(reader.session("s1")).state).toBe("after");
  });
});
