import { afterEach, describe, expect, test } from "vitest";
import { openReader, openStore } from "../../src/store/sqlite-store.ts";
import { put, session } from "./contract-rig.ts";
import { cleanUp, closeLater, OWNER, temporaryDirectory } from "./rig.ts";
import { value } from "../results.ts";

afterEach(cleanUp);

/** A session with two values and a state that are always committed together, and somebody who looks at it. */
async function watched() {
  const home = temporaryDirectory();
  const store = value(openStore(home));
  closeLater(() => store.close());
  value(await store.create(session("s1")));
  const lease = value(await store.acquire("s1", OWNER));
  const commit = async (moment: string) => {
    const changes = [put("ticket", "1", moment), put("turn", "1", moment)];
    value(await store.commit(lease, { expected: 0, records: [], changes, session: { state: moment } }));
  };
  await commit("before");
  const reader = value(openReader(home));
  closeLater(() => reader.close());
  return { commit, reader };
}

describe("who only looks at a session", () => {
  test("is given it and all its values as they are at one moment, whatever is committed meanwhile", async () => {
    const { commit, reader } = await watched();
    const look = async (between: () => Promise<void>) => {
      const stored = value(await reader.load("s1"));
      await between();
      const seen: unknown[] = [stored.session.state];
      for (const row of stored.rows()) {
        seen.push(row.value);
        await between();
      }
      return [...seen, value(reader.session("s1")).state];
    };
    expect(await reader.moment(() => look(() => commit("after")))).toEqual(["before", "before", "before", "before"]);
    expect(await look(async () => {})).toEqual(["after", "after", "after", "after"]);
  });

  test("is not kept to that moment after a look that failed", async () => {
    const { commit, reader } = await watched();
    const failing = reader.moment(async () => {
      expect(value(reader.session("s1")).state).toBe("before");
      throw new Error("It looked no further.");
    });
    await expect(failing).rejects.toThrow("It looked no further.");
    await commit("after");
    expect(value(reader.session("s1")).state).toBe("after");
  });
});
