import SqliteDatabase from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import { type PersonMessage, putMessage } from "../../../src/commands/interaction/put.ts";
import { databasePath } from "../../../src/store/database.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";
import type { Store } from "../../../src/store/store.ts";
import { failureOf, value } from "../../results.ts";
import { typed } from "../in-process.ts";
import { type Rig, rig, until } from "../rig.ts";
import { endAfterwards } from "../strays.ts";
import { ASK, sessionCloses } from "../waiting-task.ts";

const EVE: PersonMessage = {
  payload_type: "clarification_response",
  payload: { answers: [{ question_id: "c1.name", text: "Eve" }], status: "answered" },
};

function storeOf({ home }: Rig): Store {
  const store = value(openStore(home));
  onTestFinished(() => store.close());
  return store;
}

/** A scheduler in a process of its own, whose session waits for an answer; `freeze` stops it until the returned function is called. */
async function asking(here: Rig): Promise<{ store: Store; freeze: () => () => void }> {
  expect((await here.run(["run", "--plan", here.write("plan.json", ASK), "--session", "mine", "--detach"])).code).toBe(
    0,
  );
  await until("the question", async () => (await typed(here, ["inbox"])).stdout.includes("c1.name"));
  const store = storeOf(here);
  const { pid } = store.holder("mine") ?? {};
  if (pid === undefined) throw new Error("nobody holds the session");
  const freeze = () => {
    process.kill(pid, "SIGSTOP");
    return () => void process.kill(pid, "SIGCONT");
  };
  return { store, freeze };
}

const isPut = (store: Store, count: number) => () => store.inbox.pending("mine").length === count;

it("tells two identical answers apart that are given at once", async () => {
  const here = endAfterwards(rig());
  const { store, freeze } = await asking(here);
  const goOn = freeze();
  const row = value(store.session("mine"));
  const first = putMessage(store, row, EVE);
  await until("the first answer", isPut(store, 1));
  const second = putMessage(storeOf(here), row, EVE);
  await until("the second answer", isPut(store, 2));
  goOn();
  expect(value(await first)).toMatchObject({
    took: "taken",
    record: { payload: EVE.payload, record: { disposition: "applied" } },
  });
  const refused = failureOf(await second);
  expect(refused).toMatchObject({ code: "validation_failed", details: { pointer: "/answers/0/question_id" } });
  expect(refused.message).toContain('"c1.name" is not an open question');
  await sessionCloses(here, "mine");
});

it("says that the log has the outcome of a message that an earlier version of Bosun took", async () => {
  const here = endAfterwards(rig());
  const { store, freeze } = await asking(here);
  const goOn = freeze();
  const told = typed(here, ["tell", "mine", "Mind the gap."]);
  await until("the note", isPut(store, 1));
  // As that version takes it.
  const database = new SqliteDatabase(databasePath(here.home));
  database.exec("DELETE FROM inbox");
  database.close();
  const { code, stdout, stderr } = await told;
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^mine .*\blog\b/);
  goOn();
  expect((await typed(here, ["answer", "mine", "Eve"])).code).toBe(0);
  await sessionCloses(here, "mine");
});
