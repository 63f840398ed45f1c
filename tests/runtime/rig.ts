import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Mode } from "../../src/kernel/mode.ts";
import { ok } from "../../src/lib/result.ts";
import { checkRecords } from "../../src/runtime/checked-records.ts";
import { checkedState } from "../../src/runtime/replayed-state.ts";
import { verifySession } from "../../src/runtime/proof.ts";
import { catchStorage } from "../../src/store/storage-error.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { living } from "../processes.ts";
import { value } from "../results.ts";
import { logFolder, MODES, type Rig } from "./sessions.ts";

/** Collections that are empty in a closed session. */
const OPEN = new Set(["turn", "timer", "ask", "check", "child", "hold", "process"]);

/** A directory that is removed when the test ends. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "bosun-runtime-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A home and a workspace. When the test ends, every session in it is verified, and must have left nothing behind. */
export function newRig(): Rig {
  const home = temporaryDirectory();
  const rig: Rig = { home, workspace: temporaryDirectory(), store: value(openStore(home)) };
  onTestFinished(async () => {
    rig.store.close();
    // Opened anew, as another process would.
    const store = value(openStore(home));
    try {
      const begun = store.sessions().filter(({ last_sequence }) => last_sequence > 0);
      const faults = await Promise.all(begun.map(({ session_id }) => faultsOf({ ...rig, store }, session_id)));
      expect(faults.flat()).toEqual([]);
    } finally {
      store.close();
    }
  });
  return rig;
}

/** What is wrong with an ended session: living processes, a log that proves nothing, state left over. */
async function faultsOf(rig: Rig, session_id: string): Promise<string[]> {
  const stored = value(await rig.store.load(session_id));
  const { last_sequence, outcome } = stored.session;
  const proof = value(verifySession(logFolder(rig, session_id), MODES));
  const faults = [
    ...living(session_id, rig.home).map((pid) => `process ${pid} lives`),
    ...proof.problems.map(({ sequence, what }) => `record ${sequence}: ${what}`),
    ...(proof.decisions === "ok" ? [] : [`decisions: ${proof.decisions}`]),
    ...(proof.records === last_sequence ? [] : [`${proof.records} files for ${last_sequence} records`]),
  ];
  const log = logFolder(rig, session_id);
  // Without it, the state is what a replay makes.
  rmSync(join(rig.home, "sessions", session_id, "state.sha256"), { force: true });
  const checked = await catchStorage(async () => {
    checkRecords(rig.store, stored.session, log);
    checkedState(rig.store, stored, MODES.get(stored.session.mode) as Mode<unknown>);
    return ok(undefined);
  });
  if (!checked.ok) faults.push(checked.error.message);
  if (outcome !== null) {
    if (!proof.ok) faults.push(`closed, but its log is ${proof.completeness}`);
    for (const { collection, id } of stored.rows())
      if (OPEN.has(collection)) faults.push(`${collection} ${id} is left`);
  }
  return faults.map((fault) => `${session_id}: ${fault}`);
}
