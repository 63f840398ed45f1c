import { expect, test } from "vitest";
import type { Json } from "../../src/lib/json.ts";
import type { SealedRecord } from "../../src/protocol/record.ts";
import type { Lease } from "../../src/store/store.ts";
import { ACTOR, begun, drop, put, session, type StoreUnderTest } from "./contract-rig.ts";
import { chain, OWNER } from "./records.ts";
import { failureOf, value } from "../results.ts";

/** Commits, reads and the inbox, for every implementation of `Store`. */
export function commitsContract(open: () => StoreUnderTest): void {
  test("a commit writes records, state, artifacts and the session row together", async () => {
    const { store, another, lease } = await begun(open);
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
    const plain = { sequence: 2, label: "log", uri: "b", path: "b", digest: "sha256:bb", size_bytes: 0 };
    const last = { ...plain, sequence: 3 };
    const before = Date.now();
    value(
      await store.commit(lease, {
        expected: 0,
        records,
        changes: [put("ticket", "T-1", { status: "pending" })],
        artifacts: [artifact, plain, last],
        session: { state: "running", published: 2 },
      }),
    );
    const reader = another();
    const { updated_at } = value(reader.session("s1"));
    expect(Date.parse(updated_at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(updated_at)).toBeLessThanOrEqual(Date.now());
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
    expect(reader.payloadType("s1", 3)).toBe(records[2]?.payload_type);
    expect(reader.artifacts("s1")).toEqual([artifact, plain, last]);
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
    value(await store.commit(lease, { expected: 3, records: [], changes: [], session: { outcome: null } }));
    const reopened = value(reader.session("s1"));
    expect(reopened).toMatchObject({ state: "running", outcome: null, published: 2 });
    value(await store.commit(lease, { expected: 3, records: [], changes: [], session: {} }));
    expect(value(reader.session("s1"))).toEqual({ ...reopened, updated_at: expect.any(String) as string });
  });

  test("the last of several changes to one value counts", async () => {
    const { store, lease } = await begun(open);
    const changes = [
      put("ticket", "kept", 1),
      put("ticket", "dropped", 1),
      put("ticket", "again", 1),
      put("turn", "kept", "another collection"),
      put("tick", "etkept", "another, with the same letters"),
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
    expect(store.value("s1", "tick", "etkept")).toBe("another, with the same letters");
    value(await store.commit(lease, { expected: 0, records: [], changes: [put("ticket", "kept", 4)] }));
    expect(store.value("s1", "ticket", "kept")).toBe(4);
    value(await store.commit(lease, { expected: 0, records: [], changes: [drop("ticket", "kept")] }));
    expect(store.value("s1", "ticket", "kept")).toBeUndefined();
    expect(store.value("s1", "turn", "kept")).toBe("another collection");
  });

  test("values are read back unchanged, ordered by collection and id", async () => {
    const { store, lease } = await begun(open);
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
    expect([...stored.rows("none")]).toEqual([]);
    const all = [...stored.rows()];
    expect(all).toHaveLength(changes.length);
    expect([...new Set(all.map((row) => row.collection))]).toEqual(["", "many", "odd"]);
  });

  test("refuses a commit that does not follow the last record, and writes nothing", async () => {
    const { store, lease } = await begun(open);
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
        taken: [{ id: row.value, sequence: 3 }],
      });
      expect(failureOf(refused).code).toBe("stale_lease");
    }
    expect(value(store.session("s1"))).toMatchObject({ state: "created", last_sequence: 2, head: records[1]?.hash });
    expect([...store.records("s1", 1)]).toHaveLength(2);
    expect(store.value("s1", "ticket", "T-1")).toBeUndefined();
    expect(store.artifacts("s1")).toEqual([]);
    expect(store.inbox.pending("s1")).toHaveLength(1);
    expect(store.inbox.outcome("s1", row.value)).toBeUndefined();
    expect((await store.commit(lease, { expected: 2, records: records.slice(2), changes: [] })).ok).toBe(true);
  });

  test("throws for records with a gap between them, and writes nothing", async () => {
    const { store, lease } = await begun(open);
    const [first, , third] = chain(3) as [SealedRecord, SealedRecord, SealedRecord];
    await expect(store.commit(lease, { expected: 0, records: [first, third], changes: [] })).rejects.toThrow(
      "Record 3 was committed where 2 belongs",
    );
    expect(value(store.session("s1")).last_sequence).toBe(0);
    expect((await store.commit(lease, { expected: 0, records: [first], changes: [] })).ok).toBe(true);
  });

  test("changes to one session do not affect another", async () => {
    const { store } = open();
    const leaseOf = async (id: string) => value(await store.acquire(id, OWNER));
    for (const id of ["s1", "like", "unlike"]) value(await store.create(session(id)));
    // One has the same epoch as s1, the other a higher one.
    await store.release(await leaseOf("unlike"));
    const leases = [await leaseOf("like"), await leaseOf("unlike")];
    const lease = await leaseOf("s1");
    for (const each of [...leases, lease]) {
      const artifact = { sequence: 1, label: each.session_id, uri: "a", path: "a", digest: "sha256:aa", size_bytes: 1 };
      value(
        await store.commit(each, {
          expected: 0,
          records: chain(1, () => ({ session_id: each.session_id })),
          changes: [put("ticket", "T-1", each.session_id), put("turn", "t1", each.session_id)],
          session: { state: `state of ${each.session_id}` },
          artifacts: [artifact],
        }),
      );
      value(await store.inbox.put(each.session_id, { to: each.session_id }, ACTOR));
    }
    const everythingOf = async ({ session_id }: Lease) => ({
      row: value(store.session(session_id)),
      holder: store.holder(session_id),
      records: [...store.sealed(session_id, 1)],
      rows: [...value(await store.load(session_id)).rows()],
      artifacts: store.artifacts(session_id),
      inbox: store.inbox.pending(session_id),
    });
    const before = await Promise.all(leases.map(everythingOf));
    value(
      await store.commit(lease, {
        expected: 1,
        records: [],
        changes: [drop("ticket", "T-1"), put("turn", "t1", "changed")],
        session: { state: "closed", outcome: "done", published: 1 },
        taken: [1, 2, 3].map((nth) => ({ id: nth + (before[0]?.inbox[0]?.id ?? 0) - 1, sequence: 1 })),
      }),
    );
    expect(await everythingOf(lease)).toMatchObject({
      row: { state: "closed", outcome: "done", published: 1 },
      rows: [{ collection: "turn", id: "t1", value: "changed" }],
      artifacts: [{ label: "s1" }],
      inbox: [],
    });
    await store.release(lease);
    expect(await Promise.all(leases.map(everythingOf))).toEqual(before);
    expect(leases.map((each) => store.confirm(each).ok)).toEqual([true, true]);
  });

  test("the owner can commit while records and rows are being read", async () => {
    const { store, lease } = await begun(open);
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

  test("inbox rows wait in order until a commit takes them; ids are not reused", async () => {
    const { store, another, lease } = await begun(open);
    const other = another();
    const first = value(await other.inbox.put("s1", { command: "pause" }, ACTOR));
    const second = value(await store.inbox.put("s1", { command: "tell", text: "\u2028" }, ACTOR));
    expect(store.inbox.pending("s1")).toMatchObject([
      { id: first, body: { command: "pause" }, actor: ACTOR },
      { id: second, body: { command: "tell", text: "\u2028" } },
    ]);
    value(await store.commit(lease, { expected: 0, records: [], changes: [], taken: [{ id: first, sequence: 1 }] }));
    expect(other.inbox.pending("s1").map((row) => row.id)).toEqual([second]);
    value(await store.commit(lease, { expected: 0, records: [], changes: [], taken: [{ id: second, sequence: 1 }] }));
    expect(other.inbox.pending("s1")).toEqual([]);
    expect(value(await store.inbox.put("s1", {}, ACTOR))).toBeGreaterThan(second);
  });

  test("a taken inbox row keeps what became of it", async () => {
    const { store, another, lease } = await begun(open);
    const other = another();
    const outcomes = (ids: readonly number[]) => ids.map((id) => other.inbox.outcome("s1", id));
    const ids = [
      value(await other.inbox.put("s1", { same: 1 }, ACTOR)),
      value(await other.inbox.put("s1", { same: 1 }, ACTOR)),
    ] as const;
    expect(outcomes(ids)).toEqual([undefined, undefined]);
    const refusal = { code: "not_permitted", message: "too late", hint: "See SPEC.", details: { n: 1 } } as const;
    const taken = [
      { id: ids[1], sequence: 1 },
      { id: ids[0], sequence: 2, refusal },
    ];
    value(await store.commit(lease, { expected: 0, records: chain(2), changes: [], taken }));
    expect(outcomes(ids)).toEqual([taken[1], taken[0]]);
    expect(outcomes([ids[1] + 1])).toEqual([{}]);
    expect(other.inbox.outcome("another", ids[0])).toEqual({});
  });

  test("the version rises with commits of others and with puts, not with own commits", async () => {
    const { store, another, lease } = await begun(open);
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
}

function renumbered(records: readonly SealedRecord[], after: number): SealedRecord[] {
  return records.map((record, index) => ({ ...record, sequence: after + 1 + index }));
}
