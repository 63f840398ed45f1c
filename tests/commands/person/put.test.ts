import { hostname } from "node:os";
import { afterEach, expect, it } from "vitest";
import { putWord } from "../../../src/commands/person/put.ts";
import { commandWord } from "../../../src/commands/person/word.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { typed } from "../in-process.ts";
import { ASKING, type Rig, rig, tinyPlan } from "../rig.ts";
import { value } from "../../results.ts";

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

it("a word that its owner took and left with, between two looks of who put it, is not said to wait", async () => {
  const here = rig();
  const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true" }], ASKING));
  expect((await typed(here, ["run", "--plan", plan])).code).toBe(4);
  const [person, owner] = [storeOf(here), storeOf(here)];
  const [row] = person.sessions();
  if (!row) throw new Error("there is no session");
  const { session_id, last_sequence: expected } = row;
  const lease = value(
    await owner.acquire(session_id, { pid: process.pid, host: hostname(), started_at: row.created_at }),
  );
  const takeAndLeave = () => {
    const taken = owner.inbox.pending(session_id).map(({ id }) => id);
    return [owner.commit(lease, { expected, records: [], changes: [], taken }), owner.release(lease)];
  };
  let looks = 0;
  const left: Promise<unknown>[] = [];
  const watched: Store = {
    ...person,
    holder: (id) => {
      looks += 1;
      if (looks === 2) left.push(...takeAndLeave());
      return person.holder(id);
    },
  };
  const put = value(await putWord(watched, row, commandWord({ command: "cancel" })));
  expect(put.took).toBe("taken");
  expect(await Promise.all(left)).toMatchObject([{ ok: true }, undefined]);
});
