import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import type { Mode } from "../../src/kernel/mode.ts";
import { ok } from "../../src/lib/result.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import type { ScheduleState } from "../../src/modes/schedule/state.ts";
import { checkedState } from "../../src/runtime/replayed-state.ts";
import { catchStorage } from "../../src/store/storage-error.ts";
import type { Store } from "../../src/store/store.ts";
import { failureOf, value } from "../results.ts";
import { crew, criterion, instructed } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, logOf, recordOf, resume, told } from "./sessions.ts";

it("a row that is read again after it was checked must be what it was", async () => {
  const rig = newRig();
  const agentFor = crew([instructed("a", [], { acceptance_criteria: [criterion("touch", "good")] })]);
  const begun = await begin(rig, { agentFor });
  const ended = begun.run({ waitForPeople: false });
  await told(begun, recordOf("plan"));
  begun.stop("signal", "for now");
  await ended;
  const { session_id } = begun;
  const plan = logOf(rig, session_id, "plan")[0]?.integrity.sequence;
  const store: Store = {
    ...rig.store,
    record: (id, sequence) => rig.store.record(id, sequence)?.replace('"good"', '"evil"'),
  };
  const session = await resume(rig, session_id, { agentFor, store });
  const failed = failureOf(await session.run({ waitForPeople: false }));
  expect(failed).toMatchObject({ code: "verification_failed", details: { session_id, sequence: plan } });
  for (const name of ["good", "evil"]) expect(existsSync(join(rig.workspace, name))).toBe(false);
  // From the rows as they are, it goes on.
  const whole = await resume(rig, session_id, { agentFor });
  expect(await whole.run({ waitForPeople: false })).toMatchObject({ ok: true, value: { outcome: "done" } });
  expect(existsSync(join(rig.workspace, "good"))).toBe(true);
});

it("a session that stopped in order is not replayed, unless its rows or its records are others", async () => {
  const rig = newRig();
  const agentFor = crew([instructed("a", [], { acceptance_criteria: [criterion("true")] })]);
  const begun = await begin(rig, { agentFor });
  const ended = begun.run({ waitForPeople: false });
  await told(begun, recordOf("plan"));
  begun.stop("signal", "for now");
  await ended;
  let replayed = 0;
  const mode: Mode<ScheduleState> = {
    ...scheduleMode,
    decide: (state, fact) => {
      replayed += 1;
      return scheduleMode.decide(state, fact);
    },
  };
  const check = async () => {
    const stored = value(await rig.store.load(begun.session_id));
    return catchStorage(async () => ok(checkedState(rig.store, stored, mode)));
  };
  expect(await check()).toMatchObject({ ok: true });
  expect(replayed).toBe(0);
  const database = new Database(join(rig.home, "bosun.db"));
  onTestFinished(() => void database.close());
  const rename = (from: string, to: string) =>
    database.prepare("UPDATE state SET id = ? WHERE collection = 'ticket' AND id = ?").run(to, from);
  rename("a", "b");
  expect(failureOf(await check())).toMatchObject({ code: "verification_failed" });
  expect(replayed).toBeGreaterThan(0);
  rename("b", "a");
});
