import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Store } from "../../src/store/store.ts";
import { failureOf } from "../results.ts";
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
