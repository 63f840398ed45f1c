import { afterEach, expect, it } from "vitest";
import { driveSession } from "../../src/commands/drive.ts";
import { withHome } from "../../src/commands/home.ts";
import type { Manner } from "../../src/commands/manner.ts";
import { err, ok } from "../../src/lib/result.ts";
import { failure } from "../../src/protocol/failure.ts";
import { isLocked, lockPath } from "../../src/store/lock.ts";
import type { Terminal } from "../../src/ui/terminal.ts";
import { begin, cleanUp, newRig, surroundings } from "../runtime/rig.ts";

afterEach(cleanUp);

it("lets go of a session whose row cannot be read any more", async () => {
  const rig = newRig();
  const session = await begin(rig);
  const lock = lockPath(rig.home, session.session_id);
  expect(isLocked(lock)).toBe(true);
  const lost = err(failure("storage", "The database cannot be used."));
  const store = { ...rig.store, session: () => lost };
  const place = { ...surroundings(rig, {}), store, killAll: () => {} };
  const said = { answers: [], unanswered: "stop", approve_plans: false, plan_only: false } as const;
  const manner: Manner = { ...said, reporter: "silent", ask: false, scheduler: "here", kill_grace_s: 1 };
  // Nothing is said before the row is read.
  const terminal = { out: {}, err: {} } as Terminal;
  const context = { terminal, home: rig.home, directory: "/", environment: {}, bosun: "bosun", leave: () => {} };
  const home = ok({ home: rig.home, store });
  expect(await withHome(home, () => driveSession(context, place, session, manner, false))).toEqual(lost);
  expect(isLocked(lock)).toBe(false);
});
