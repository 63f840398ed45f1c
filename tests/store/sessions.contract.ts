import { expect, test } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { ACTOR, begun, put, session, type StoreUnderTest } from "./contract-rig.ts";
import { chain, OWNER } from "./records.ts";
import { failureOf, value } from "../results.ts";

/** Creating, holding and finding sessions, for every implementation of `Store`. */
export function sessionsContract(open: () => StoreUnderTest): void {
  test("a new session has no records, no state and no owner", async () => {
    const { store } = open();
    value(await store.create({ ...session("s1"), requirement: "Tidy up", parent: undefined as never }));
    expect(value(store.session("s1"))).toMatchObject({
      session_id: "s1",
      mode: "schedule",
      state: "created",
      outcome: null,
      requirement: "Tidy up",
      workspace: "/somewhere",
      parent: null,
      created_at: "2026-01-01T00:00:00Z",
      updated_at: "2026-01-01T00:00:00Z",
      last_sequence: 0,
      head: `sha256:${"0".repeat(64)}`,
      published: 0,
      epoch: 0,
    });
    expect([...value(await store.load("s1")).rows()]).toEqual([]);
    expect(store.holder("s1")).toBeUndefined();
  });

  test("refuses an id that exists in another case", async () => {
    const { store } = open();
    value(await store.create(session("Release-1.2_b")));
    expect(failureOf(await store.create(session("Release-1.2_b"))).code).toBe("busy");
    expect(failureOf(await store.create(session("release-1.2_B"))).code).toBe("busy");
  });

  test("finds a session by its id in any case", async () => {
    const { store, another, lease } = await begun(open, "Release-1");
    const other = another();
    expect(lease.session_id).toBe("Release-1");
    expect(other.holder("release-1")).toEqual(OWNER);
    expect(failureOf(await other.acquire("release-1", OWNER)).code).toBe("busy");
    await store.release(lease);
    expect(value(await other.acquire("release-1", OWNER))).toEqual({ ...lease, epoch: 2 });
  });

  test.each([
    "",
    ".",
    "..",
    "../up",
    "a/b",
    "a\\b",
    ".hidden",
    "-flag",
    "_a",
    "a b",
    "a\0b",
    "ü",
    "a.",
    "x".repeat(121),
  ])("refuses the id %j", async (session_id) => {
    const failure = failureOf(await open().store.create(session(session_id)));
    expect(failure.code).toBe("usage");
    expect(failure.hint).toContain("letters");
  });

  test("quotes only part of a very long id", async () => {
    const { store } = open();
    expect(failureOf(await store.create(session("a".repeat(100_000)))).message.length).toBeLessThan(300);
  });

  test("a child of the session with the longest id can have its number appended", async () => {
    const { store } = open();
    const parent = "x".repeat(120);
    value(await store.create(session(parent)));
    value(await store.create({ ...session(`${parent}.1234567`), parent }));
    expect(store.sessions({ parent }).map((row) => row.session_id)).toEqual([`${parent}.1234567`]);
  });

  test("only one process holds a session; others are told which", async () => {
    const { store, another, lease } = await begun(open);
    const other = another();
    const refused = failureOf(await other.acquire("s1", { ...OWNER, pid: 4711 }));
    expect(refused.code).toBe("busy");
    expect(refused.message).toContain(`process ${OWNER.pid} on here since 2026-01-01T00:00:00Z`);
    expect(failureOf(await store.acquire("s1", OWNER)).code).toBe("busy");
    expect(other.holder("s1")).toEqual(OWNER);

    await store.release(lease);
    expect(other.holder("s1")).toBeUndefined();
    expect(value(await other.acquire("s1", OWNER))).toEqual({ session_id: "s1", epoch: lease.epoch + 1 });
  });

  test("asking for the holder does not block acquiring", async () => {
    const { store, another } = open();
    value(await store.create(session("s1")));
    const others = [another(), another()];
    expect(others.map((other) => other.holder("s1"))).toEqual([undefined, undefined]);
    expect((await store.acquire("s1", OWNER)).ok).toBe(true);
    expect(others.map((other) => other.holder("s1"))).toEqual([OWNER, OWNER]);
  });

  test("finds nothing of an unknown session", async () => {
    const { store, lease } = await begun(open, "another");
    const artifact = { sequence: 1, label: "log", uri: "a", path: "a", digest: "sha256:aa", size_bytes: 1 };
    const changes = [put("ticket", "T-1", 1)];
    value(await store.commit(lease, { expected: 0, records: chain(1), changes, artifacts: [artifact] }));
    value(await store.inbox.put("another", {}, ACTOR));
    expect(failureOf(await store.acquire("s1", OWNER)).code).toBe("not_found");
    expect(failureOf(await store.load("s1")).code).toBe("not_found");
    expect(failureOf(store.session("s1")).code).toBe("not_found");
    expect(failureOf(await store.inbox.put("s1", {}, ACTOR)).code).toBe("not_found");
    expect(store.record("s1", 1)).toBeUndefined();
    expect([...store.records("s1", 1)]).toEqual([]);
    expect(store.artifacts("s1")).toEqual([]);
    expect(store.inbox.pending("s1")).toEqual([]);
    expect(store.value("s1", "ticket", "T-1")).toBeUndefined();
    expect(store.holder("s1")).toBeUndefined();
  });

  test("finds a session that was created after a first failed lookup", async () => {
    const { store, another } = open();
    const reader = another();
    expect(reader.record("s1", 1)).toBeUndefined();
    expect(reader.payloadType("s1", 1)).toBeUndefined();
    value(await store.create(session("s1")));
    const lease = value(await store.acquire("s1", OWNER));
    const records = chain(1);
    value(await store.commit(lease, { expected: 0, records, changes: [] }));
    expect(reader.record("s1", 1)).toBe(records[0]?.line);
  });

  test("refuses a released lease; releasing it again does not harm its successor", async () => {
    const { store, another, lease } = await begun(open);
    await store.release(lease);
    const successor = another();
    const next = value(await successor.acquire("s1", { ...OWNER, pid: 4711 }));
    const refused = await store.commit(lease, { expected: 0, records: chain(1), changes: [] });
    expect(failureOf(refused).code).toBe("stale_lease");
    await store.release(lease);
    await store.release(next);
    expect(store.holder("s1")?.pid).toBe(4711);
    expect((await successor.commit(next, { expected: 0, records: chain(1), changes: [] })).ok).toBe(true);
  });

  test("refuses an old lease even if the same store acquired the session again", async () => {
    const { store, lease } = await begun(open);
    await store.release(lease);
    const next = value(await store.acquire("s1", OWNER));
    const refused = await store.commit(lease, { expected: 0, records: chain(1), changes: [] });
    expect(failureOf(refused).code).toBe("stale_lease");
    await store.release(lease);
    expect(store.holder("s1")).toEqual(OWNER);
    expect((await store.commit(next, { expected: 0, records: chain(1), changes: [] })).ok).toBe(true);
  });

  test("finds a session by its id or by a unique prefix", async () => {
    const { store } = open();
    for (const id of ["alpha", "alpha-2", "beta_1", "betaX1", "zz-top"]) value(await store.create(session(id)));
    const found = (text: string) => store.session(text);
    expect(value(found("alpha")).session_id).toBe("alpha");
    expect(value(found("alpha-")).session_id).toBe("alpha-2");
    expect(value(found("BETA_")).session_id).toBe("beta_1");
    expect(value(found("z")).session_id).toBe("zz-top");
    expect(failureOf(found("al"))).toMatchObject({ code: "usage", details: { candidates: ["alpha", "alpha-2"] } });
    for (const text of ["gamma", "", "%", "a%", "_", "alpha-22"]) expect(failureOf(found(text)).code).toBe("not_found");
  });

  test("lists sessions newest first, and by parent", async () => {
    const { store } = open();
    value(await store.create(session("one")));
    value(await store.create(session("two")));
    value(await store.create({ ...session("one.7"), parent: "one" }));
    const ids = (filter?: Parameters<Store["sessions"]>[0]) => store.sessions(filter).map((row) => row.session_id);
    expect(ids()).toEqual(["one.7", "two", "one"]);
    expect(ids({ parent: "one" })).toEqual(["one.7"]);
    expect(ids({ parent: null })).toEqual(["two", "one"]);
  });
}
