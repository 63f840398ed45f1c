import { hostname } from "node:os";
import { afterEach, describe, expect, it } from "vitest";
import { commandMessage, putMessage } from "../../../src/commands/interaction/put.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";
import type { Lease, SessionRow, Store } from "../../../src/store/store.ts";
import { value } from "../../results.ts";
import { typed } from "../in-process.ts";
import { ASKING, type Rig, rig, tinyPlan } from "../rig.ts";

const open = new Set<Store>();

afterEach(() => {
  for (const store of open) store.close();
  open.clear();
});

function storeOf({ home }: Rig): Store {
  const store = value(openStore(home));
  open.add(store);
  return store;
}

/** A session that waits for an answer, and somebody who holds it and does nothing with it. */
async function owned(here: Rig): Promise<{ readonly owner: Store; readonly row: SessionRow; readonly lease: Lease }> {
  const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true" }], ASKING));
  expect((await typed(here, ["run", "--plan", plan])).code).toBe(4);
  const owner = storeOf(here);
  const [row] = owner.sessions();
  if (!row) throw new Error("there is no session");
  const holder = { pid: process.pid, host: hostname(), started_at: row.created_at };
  return { owner, row, lease: value(await owner.acquire(row.session_id, holder)) };
}

describe("a message whose owner exits right after it", () => {
  it("is taken if the owner took it before", async () => {
    const here = rig();
    const { owner, row, lease } = await owned(here);
    const { session_id, last_sequence: expected } = row;
    const person = storeOf(here);
    const left: Promise<unknown>[] = [];
    const takeAndLeave = () => {
      const taken = owner.inbox.pending(session_id).map(({ id }) => ({ id, sequence: expected }));
      left.push(owner.commit(lease, { expected, records: [], changes: [], taken }), owner.release(lease));
    };
    let looks = 0;
    const watched: Store = {
      ...person,
      holder: (id) => {
        looks += 1;
        if (looks === 2) takeAndLeave();
        return person.holder(id);
      },
    };
    expect(value(await putMessage(watched, row, commandMessage({ command: "cancel" })))).toMatchObject({
      took: "taken",
    });
    expect(await Promise.all(left)).toMatchObject([{ ok: true }, undefined]);
  });

  it("is void if it is a pause", async () => {
    const here = rig();
    const { owner, row, lease } = await owned(here);
    const { session_id } = row;
    const paused = typed(here, ["pause", session_id]);
    await expect.poll(() => owner.inbox.pending(session_id)).toHaveLength(1);
    await owner.release(lease);
    const { code, stdout, stderr } = await paused;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`bosun resume ${session_id}`);
    expect((await typed(here, ["resume", session_id, "--answer", "c1.name=Ada"])).code).toBe(0);
  });
});
