import type { ProcessIdentity } from "../kernel/agent.ts";
import { applyToLedger, emptyLedger, LEDGER_COLLECTIONS } from "../kernel/ledger.ts";
import type { Mode } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { writeReport } from "../log/report.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { PayloadByType } from "../protocol/payload.ts";
import { neverBegun } from "../store/failures.ts";
import { keptRecord, lastReport } from "../store/kept-record.ts";
import type { Role } from "../protocol/roles.ts";
import type { SessionRow } from "../store/store.ts";
import { removePartialCopies } from "./turns/artifacts.ts";
import type { Held } from "./inbox.ts";
import { sessionPaths } from "./paths.ts";
import { recover } from "./recovery.ts";
import { withSecrets } from "./secrets.ts";
import { TOLD, type Told } from "./notifications.ts";
import type { Session } from "./session.ts";
import { assemble, holding, type Surroundings } from "./assemble.ts";

/** What is new about a session that is taken up. */
interface Change {
  readonly limits?: JsonObject;
  /** Why a closed session is opened again. */
  readonly reopen?: string;
  /** It is taken up only to be closed: no role of it is started, so nobody needs what the log withheld of them. */
  readonly ends?: true;
  /** Its roles, where whoever takes it up has them with all that its log withheld. */
  readonly roles?: readonly Role[];
}

/**
 * Takes up a session where it was left, ending first what a dead scheduler's agents left running. `busy` naming the holder,
 * `not_found`, `usage` for a session of another mode. A closed session is taken up without a record, only to be reopened.
 */
export async function resumeSession<S>(
  around: Surroundings,
  mode: Mode<S>,
  row: SessionRow,
  change: Change = {},
): Promise<Result<Session<S>, Failure>> {
  return holding(around, row.session_id, (lease) => takeUp(around, mode, row, change, lease));
}

async function takeUp<S>(
  around: Surroundings,
  mode: Mode<S>,
  row: SessionRow,
  change: Change,
  lease: Held,
): Promise<Result<Session<S>, Failure>> {
  const { store } = around;
  const loaded = await store.load(row.session_id);
  if (!loaded.ok) return loaded;
  const state = mode.empty();
  const ledger = emptyLedger();
  const processes: (ProcessIdentity & { readonly id: string })[] = [];
  const told = new Map<string, Told>();
  for (const { collection, id, value } of loaded.value.rows()) {
    if (collection === "process") processes.push({ ...(value as unknown as ProcessIdentity), id });
    else if (collection === TOLD) told.set(id, value as unknown as Told);
    else if (LEDGER_COLLECTIONS.has(collection)) applyToLedger(ledger, { put: collection, id, value });
    else mode.apply(state, { put: collection, id, value });
  }
  const { session: current } = loaded.value;
  if (current.last_sequence === 0) return err(neverBegun(current));
  const opened = keptRecord(store, row.session_id, 1);
  const payload = opened.payload as unknown as PayloadByType["session_opened"];
  const isOver = change.ends === true || (ledger.figures.closed !== undefined && change.reopen === undefined);
  const known = change.roles ?? (isOver ? payload.roles : undefined);
  const roles = known ? ok(known) : withSecrets(row.session_id, payload.roles, process.env);
  if (!roles.ok) return roles;
  const paths = sessionPaths(around.home, row.session_id);
  const survivors = await around.launcher.endLeftovers(processes, payload.config.kill_grace_s * 1000, {
    session_id: row.session_id,
    folder: paths.folder,
  });
  crashPoint("leftovers_ended");
  if (survivors.length > 0) {
    return err(
      failure(
        "environment",
        `A program of the scheduler that died could not be ended: pid ${survivors.map(({ pid }) => pid).join(", ")}.`,
        {
          hint: "End it by hand, then resume again.",
        },
      ),
    );
  }
  const cleaned = removePartialCopies(paths.artifacts);
  if (!cleaned.ok) return cleaned;
  if (ledger.figures.closed) {
    const written = writeReport(paths.folder, lastReport(store, current), mode.showing);
    if (!written.ok) return written;
  }
  const reopened = change.reopen !== undefined;
  const session = assemble(
    around,
    mode,
    { ...lease, reopened },
    {
      session_id: row.session_id,
      state,
      ledger,
      head: { sequence: current.last_sequence, hash: current.head },
      published: current.published,
      config: payload.config,
      roles: roles.value,
      workspace: payload.workspace,
      opened_at: opened.timestamp,
      last_at: keptRecord(store, row.session_id, current.last_sequence).record.received_at,
      told,
    },
  );
  if (!session.ok) return session;
  for (const { id } of processes) void session.value.keep({ drop: "process", id });
  recover((input) => session.value.submit(input), ledger, payload, lease.epoch, change);
  crashPoint("recovery_decided");
  return session;
}
