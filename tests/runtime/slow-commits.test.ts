import { expect, it } from "vitest";
import { failure } from "../../src/protocol/failure.ts";
import { instant } from "../../src/protocol/timestamp.ts";
import type { Store } from "../../src/store/store.ts";
import { crew, instructed, task } from "./crew.ts";
import { BentClock } from "./bent-clock.ts";
import { newRig } from "./rig.ts";
import { begin, DONE, reportOf, say } from "./sessions.ts";
import { value } from "../results.ts";

/** Much longer than every polling interval, so that its alarm can be recognized. */
const HOLD_MS = 60_000;
const LOOKS_MS = 10_000;

it("notices a hold that ends during a commit", async () => {
  const rig = newRig();
  const clock = new BentClock();
  let isSlow = false;
  // The commit takes until the hold's alarm has rung.
  const store: Store = {
    ...rig.store,
    async commit(lease, commit) {
      const done = await rig.store.commit(lease, commit);
      if (isSlow) clock.pass(2 * HOLD_MS);
      isSlow = false;
      return done;
    },
  };
  let until = 0;
  const agentFor = crew([instructed("a")], {
    review_request: () => {
      if (until > 0) return { payload_type: "review", payload: { decision: "approved" } };
      until = Date.now() + HOLD_MS;
      const details = { retry_at: instant(until) };
      return { failure: failure("rate_limited", "Too much.", { details }), refused: [] };
    },
  });
  const session = await begin(rig, { store, clock, agentFor });
  const running = session.run({ waitForPeople: true });
  await expect.poll(() => clock.delays.some((delay) => delay > LOOKS_MS && delay < 2 * HOLD_MS)).toBe(true);
  isSlow = true;
  say(session, "tell", { text: "Take your time." });
  expect(value(await running)).toEqual(DONE);
  expect(reportOf(rig, session.session_id)).toMatchObject({ outcome: "done" });
});

it("leaves a malformed message in the inbox of a session that closes", async () => {
  const rig = newRig();
  const actor = { user: "ada", host: "here", via: "test" };
  const session = await begin(rig, { agentFor: crew([task("a")]) });
  value(
    await rig.store.inbox.put(
      session.session_id,
      { payload_type: "user_command", payload: { command: "cancel" } },
      actor,
    ),
  );
  value(await rig.store.inbox.put(session.session_id, { payload_type: "nonsense", payload: {} }, actor));
  expect(value(await session.run({ waitForPeople: true }))).toMatchObject({ kind: "closed", outcome: "cancelled" });
  expect(rig.store.inbox.pending(session.session_id)).toMatchObject([{ body: { payload_type: "nonsense" } }]);
});
