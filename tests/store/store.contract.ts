import { describe, expect, test } from "vitest";
import type { Change } from "../../src/kernel/mode.ts";
import type { Json } from "../../src/lib/json.ts";
import type { SealedRecord } from "../../src/protocol/record.ts";
import type { Lease, Store } from "../../src/store/store.ts";
import { chain, OWNER } from "./rig.ts";
import { failureOf, value } from "../results.ts";

/** What a store needs to be tested: several ways in to the same sessions, as separate processes would have. */
export interface StoreUnderTest {
  readonly store: Store;
  /** Another connection to the same sessions. */
  readonly another: () => Store;
}

const ACTOR = { user: "anna", host: "here", via: "cli" };

/** What every implementation of `Store` must do. */
export function storeContract(name: string, open: () => StoreUnderTest): void {
  describe(`${name}: the store's contract`, () => {
    async function opened(session_id = "s1"): Promise<{ store: Store; another: () => Store; lease: Lease }> {
      const { store, another } = open();
      value(await store.create(session(session_id)));
      return { store, another, lease: value(await store.acquire(session_id, OWNER)) };
    }

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
        last_sequence: 0,
        head: `sha256:${"0".repeat(64)}`,
        published: 0,
        epoch: 0,
      });
      expect([...value(await store.load("s1")).rows()]).toEqual([]);
      expect(store.holder("s1")).toBeUndefined();
    });

    test("an id is given once, whatever its case", async () => {
      const { store } = open();
      value(await store.create(session("Release-1")));
      expect(failureOf(await store.create(session("Release-1"))).code).toBe("busy");
      expect(failureOf(await store.create(session("release-1"))).code).toBe("busy");
    });

    test.each(["", ".", "..", "../up", "a/b", "a\\b", ".hidden", "-flag", "a b", "a\0b", "ü", "a.", "x".repeat(121)])(
      "the id %j cannot name a session",
      async (session_id) => {
        const failure = failureOf(await open().store.create(session(session_id)));
        expect(failure.code).toBe("usage");
        expect(failure.hint).toContain("letters");
      },
    );

    test("a child of the session with the longest id has the room for its number", async () => {
      const { store } = open();
      const parent = "x".repeat(120);
      value(await store.create(session(parent)));
      value(await store.create({ ...session(`${parent}.1234567`), parent }));
      expect(store.sessions({ parent }).map((row) => row.session_id)).toEqual([`${parent}.1234567`]);
    });

    test("a session is held by one at a time, and who is refused learns by whom", async () => {
      const { store, another, lease } = await opened();
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

    test("whoever asks who holds a session does not hold it up", async () => {
      const { store, another } = open();
      value(await store.create(session("s1")));
      const others = [another(), another()];
      expect(others.map((other) => other.holder("s1"))).toEqual([undefined, undefined]);
      expect((await store.acquire("s1", OWNER)).ok).toBe(true);
      expect(others.map((other) => other.holder("s1"))).toEqual([OWNER, OWNER]);
    });

    test("what is not there is not found", async () => {
      const { store } = open();
      expect(failureOf(await store.acquire("s1", OWNER)).code).toBe("not_found");
      expect(failureOf(await store.load("s1")).code).toBe("not_found");
      expect(failureOf(store.session("s1")).code).toBe("not_found");
      expect(failureOf(await store.inbox.put("s1", {}, ACTOR)).code).toBe("not_found");
      expect(store.record("s1", 1)).toBeUndefined();
      expect([...store.records("s1", 1)]).toEqual([]);
      expect(store.artifacts("s1")).toEqual([]);
      expect(store.inbox.pending("s1")).toEqual([]);
      expect(store.value("s1", "ticket", "T-1")).toBeUndefined();
    });

    test("a commit writes records, state, artifacts and the session's row together", async () => {
      const { store, another, lease } = await opened();
      const records = chain(3);
      const artifact = {
        sequence: 2,
        subject: "T-1",
        label: "patch",
        uri: "out/a.patch",
        path: "sessions/s1/artifacts/a",
        digest: "sha256:aa",
        size_bytes: 12,
        content_type: "text/x-patch",
      };
      const plain = { sequence: 3, label: "log", uri: "b", path: "b", digest: "sha256:bb", size_bytes: 0 };
      value(
        await store.commit(lease, {
          expected: 0,
          records,
          changes: [put("ticket", "T-1", { status: "pending" })],
          artifacts: [artifact, plain],
          session: { state: "running", published: 2 },
        }),
      );
      const reader = another();
      expect(value(reader.session("s1"))).toMatchObject({
        state: "running",
        published: 2,
        outcome: null,
        last_sequence: 3,
        head: records[2]?.hash,
      });
      expect([...reader.records("s1", 1)]).toEqual(records.map((record) => record.line));
      expect([...reader.records("s1", 2, 2)]).toEqual([records[1]?.line]);
      expect([...reader.sealed("s1", 2)]).toEqual(records.slice(1));
      expect(reader.record("s1", 3)).toBe(records[2]?.line);
      expect(reader.artifacts("s1")).toEqual([artifact, plain]);
      expect([...value(await reader.load("s1")).rows()]).toEqual([
        { collection: "ticket", id: "T-1", value: { status: "pending" } },
      ]);

      value(
        await store.commit(lease, {
          expected: 3,
          records: [],
          changes: [],
          session: { outcome: "done" },
        }),
      );
      expect(value(reader.session("s1"))).toMatchObject({
        state: "running",
        outcome: "done",
        last_sequence: 3,
        head: records[2]?.hash,
      });
    });

    test("of several changes to one value the last counts", async () => {
      const { store, lease } = await opened();
      const changes = [
        put("ticket", "kept", 1),
        put("ticket", "dropped", 1),
        put("ticket", "again", 1),
        put("turn", "kept", "another collection"),
        drop("ticket", "dropped"),
        drop("ticket", "again"),
        put("ticket", "kept", 2),
        put("ticket", "again", 3),
        drop("ticket", "never"),
      ];
      value(await store.commit(lease, { expected: 0, records: [], changes }));
      expect([...value(await store.load("s1")).rows("ticket")]).toEqual([
        { collection: "ticket", id: "again", value: 3 },
        { collection: "ticket", id: "kept", value: 2 },
      ]);
      expect(store.value("s1", "turn", "kept")).toBe("another collection");
      value(await store.commit(lease, { expected: 0, records: [], changes: [drop("ticket", "kept")] }));
      expect(store.value("s1", "ticket", "kept")).toBeUndefined();
    });

    test("values come back as they were, in order of collection and id, however many", async () => {
      const { store, lease } = await opened();
      const values: Json[] = [null, false, 0, -1.5e-7, "", "\u0000\u2028\ud83d\ude00", [], {}, { "": [{ a: null }] }];
      const changes = [
        ...values.map((each, index) => put("odd", `v${index}`, each)),
        ...Array.from({ length: 2_345 }, (_, index) => put("many", String(index).padStart(5, "0"), index)),
        put("", "", "nameless"),
      ];
      value(await store.commit(lease, { expected: 0, records: [], changes }));
      const stored = value(await store.load("s1"));
      expect([...stored.rows("odd")].map((row) => row.value)).toEqual(values);
      expect([...stored.rows("many")].map((row) => row.value)).toEqual(
        Array.from({ length: 2_345 }, (_, index) => index),
      );
      const all = [...stored.rows()];
      expect(all).toHaveLength(changes.length);
      expect([...new Set(all.map((row) => row.collection))]).toEqual(["", "many", "odd"]);
    });

    test("a commit that does not follow the last record is refused whole", async () => {
      const { store, lease } = await opened();
      const records = chain(4);
      value(await store.commit(lease, { expected: 0, records: records.slice(0, 2), changes: [] }));
      const row = (await store.inbox.put("s1", { a: 1 }, ACTOR)) as { value: number };
      for (const expected of [0, 1, 3]) {
        const refused = await store.commit(lease, {
          expected,
          records: renumbered(records.slice(2, 3), expected),
          changes: [put("ticket", "T-1", 1)],
          session: { state: "closed" },
          artifacts: [{ sequence: 3, label: "x", uri: "x", path: "x", digest: "x", size_bytes: 1 }],
          taken: [row.value],
        });
        expect(failureOf(refused).code).toBe("stale_lease");
      }
      expect(value(store.session("s1"))).toMatchObject({ state: "created", last_sequence: 2, head: records[1]?.hash });
      expect([...store.records("s1", 1)]).toHaveLength(2);
      expect(store.value("s1", "ticket", "T-1")).toBeUndefined();
      expect(store.artifacts("s1")).toEqual([]);
      expect(store.inbox.pending("s1")).toHaveLength(1);
      expect((await store.commit(lease, { expected: 2, records: records.slice(2), changes: [] })).ok).toBe(true);
    });

    test("records with a gap between them are a bug, and nothing of them is stored", async () => {
      const { store, lease } = await opened();
      const [first, , third] = chain(3) as [SealedRecord, SealedRecord, SealedRecord];
      await expect(store.commit(lease, { expected: 0, records: [first, third], changes: [] })).rejects.toThrow(
        "Record 3 was committed where 2 belongs",
      );
      expect(value(store.session("s1")).last_sequence).toBe(0);
      expect((await store.commit(lease, { expected: 0, records: [first], changes: [] })).ok).toBe(true);
    });

    test("a lease that was let go of writes nothing, and letting go again harms nobody", async () => {
      const { store, another, lease } = await opened();
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

    test("an old lease writes nothing even where its holder took the session again", async () => {
      const { store, lease } = await opened();
      await store.release(lease);
      const next = value(await store.acquire("s1", OWNER));
      const refused = await store.commit(lease, { expected: 0, records: chain(1), changes: [] });
      expect(failureOf(refused).code).toBe("stale_lease");
      await store.release(lease);
      expect(store.holder("s1")).toEqual(OWNER);
      expect((await store.commit(next, { expected: 0, records: chain(1), changes: [] })).ok).toBe(true);
    });

    test("sessions do not see each other's rows", async () => {
      const { store } = open();
      const leases: Lease[] = [];
      for (const id of ["s1", "s2"]) {
        value(await store.create(session(id)));
        leases.push(value(await store.acquire(id, OWNER)));
      }
      for (const [index, lease] of leases.entries()) {
        value(
          await store.commit(lease, { expected: 0, records: chain(index + 1), changes: [put("ticket", "T-1", index)] }),
        );
        value(await store.inbox.put(lease.session_id, { index }, ACTOR));
      }
      const [one, two] = store.inbox.pending("s1").concat(store.inbox.pending("s2"));
      value(
        await store.commit(leases[0] as Lease, {
          expected: 1,
          records: [],
          changes: [],
          taken: [one?.id ?? 0, two?.id ?? 0],
        }),
      );
      expect(store.inbox.pending("s1")).toEqual([]);
      expect(store.inbox.pending("s2")).toHaveLength(1);
      expect([...store.records("s2", 1)]).toHaveLength(2);
      expect(store.value("s1", "ticket", "T-1")).toBe(0);
      expect(store.value("s2", "ticket", "T-1")).toBe(1);
    });

    test("the owner commits while records and rows are being read", async () => {
      const { store, lease } = await opened();
      const records = chain(4);
      const changes = [put("ticket", "T-1", 1), put("ticket", "T-2", 2), put("turn", "t1", 3)];
      value(await store.commit(lease, { expected: 0, records: records.slice(0, 2), changes }));
      const lines = store.records("s1", 1);
      const rows = value(await store.load("s1")).rows();
      expect(lines.next().value).toBe(records[0]?.line);
      expect(rows.next().value).toMatchObject({ id: "T-1" });
      expect((await store.commit(lease, { expected: 2, records: records.slice(2), changes: [] })).ok).toBe(true);
      expect([...lines]).toHaveLength(3);
      expect([...rows]).toHaveLength(2);
    });

    test("what was put waits in order until a commit takes it, and its id is never another's", async () => {
      const { store, another, lease } = await opened();
      const other = another();
      const first = value(await other.inbox.put("s1", { command: "pause" }, ACTOR));
      const second = value(await store.inbox.put("s1", { command: "tell", text: "\u2028" }, ACTOR));
      expect(store.inbox.pending("s1")).toMatchObject([
        { id: first, body: { command: "pause" }, actor: ACTOR },
        { id: second, body: { command: "tell", text: "\u2028" } },
      ]);
      value(await store.commit(lease, { expected: 0, records: [], changes: [], taken: [first, second] }));
      expect(other.inbox.pending("s1")).toEqual([]);
      expect(value(await store.inbox.put("s1", {}, ACTOR))).toBeGreaterThan(second);
    });

    test("the version rises when others commit or anything is put, and not when the owner commits", async () => {
      const { store, another, lease } = await opened();
      const other = another();
      const seen = { own: store.version(), other: other.version() };
      expect(store.version()).toBe(seen.own);
      value(await store.commit(lease, { expected: 0, records: chain(1), changes: [] }));
      expect(store.version()).toBe(seen.own);
      expect(other.version()).toBeGreaterThan(seen.other);

      value(await other.inbox.put("s1", {}, ACTOR));
      const afterOther = store.version();
      expect(afterOther).toBeGreaterThan(seen.own);
      value(await store.inbox.put("s1", {}, ACTOR));
      expect(store.version()).toBeGreaterThan(afterOther);
    });

    test("a session is found by its whole id, or a prefix that no other has", async () => {
      const { store } = open();
      for (const id of ["alpha", "alpha-2", "beta_1", "betaX1"]) value(await store.create(session(id)));
      const found = (text: string) => store.session(text);
      expect(value(found("alpha")).session_id).toBe("alpha");
      expect(value(found("alpha-")).session_id).toBe("alpha-2");
      expect(value(found("BETA_")).session_id).toBe("beta_1");
      expect(failureOf(found("al"))).toMatchObject({ code: "usage", details: { candidates: ["alpha", "alpha-2"] } });
      for (const text of ["gamma", "", "%", "a%", "_", "alpha-22"])
        expect(failureOf(found(text)).code).toBe("not_found");
    });

    test("sessions are listed newest first, and by parent", async () => {
      const { store } = open();
      value(await store.create(session("one")));
      value(await store.create(session("two")));
      value(await store.create({ ...session("one.7"), parent: "one" }));
      const ids = (filter?: Parameters<Store["sessions"]>[0]) => store.sessions(filter).map((row) => row.session_id);
      expect(ids()).toEqual(["one.7", "two", "one"]);
      expect(ids({ parent: "one" })).toEqual(["one.7"]);
      expect(ids({ parent: null })).toEqual(["two", "one"]);
    });
  });
}

function session(session_id: string) {
  return { session_id, mode: "schedule", workspace: "/somewhere", created_at: "2026-01-01T00:00:00Z" };
}

function put(collection: string, id: string, json: Json): Change {
  return { put: collection, id, value: json };
}

function drop(collection: string, id: string): Change {
  return { drop: collection, id };
}

function renumbered(records: readonly SealedRecord[], after: number): SealedRecord[] {
  return records.map((record, index) => ({ ...record, sequence: after + 1 + index }));
}
