import { afterEach, describe, expect, test } from "vitest";
import { openReader, openStore } from "../../src/store/sqlite-store.ts";
import { put, session } from "./contract-rig.ts";
import { cleanUp, closeLater, OWNER, temporaryDirectory } from "./rig.ts";
import { value } from "../results.ts";

afterEach(cleanUp);

/** A session with two values that are always committed together, and somebody who looks at it. */
async function watched() {
  const home = temporaryDirectory();
  const store = value(openStore(home));
  closeLater(() => store.close());
  value(await store.create(session("s1")));
  const lease = value(await store.acquire("s1", OWNER));
  const commit = async (moment: string) => {
    const changes = [put("ticket", "1", moment), put("turn", "1", moment)];
    value(await store.commit(lease, { expected: 0, records: [], changes }));
  };
  await commit("before");
  const reader = value(openReader(home));
  closeLater(() => reader.close());
  return { commit, rows: async () => value(await reader.load("s1")).rows() };
}

describe("who only looks at a session", () => {
  test("is given all values of one moment, whatever is committed between two of them", async () => {
    const { commit, rows } = await watched();
    const seen = [];
    for (const row of await rows()) {
      seen.push(row.value);
      await commit("after");
    }
    expect(seen).toEqual(["before", "before"]);
    expect([...(await rows())].map((row) => row.value)).toEqual(["after", "after"]);
  });

  test("is not kept to that moment once it looks no further", async () => {
    const { commit, rows } = await watched();
    for (const row of await rows()) {
      expect(row.value).toBe("before");
      break;
    }
    await commit("after");
    expect([...(await rows())].map((row) => row.value)).toEqual(["after", "after"]);
  });
});
