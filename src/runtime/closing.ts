import type { LedgerFigures } from "../kernel/ledger.ts";
import type { Command } from "../kernel/mode.ts";
import { fitting, from, type Lookup, resolve } from "../kernel/references.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Head } from "../log/verify.ts";
import { MAX_PAYLOAD_BYTES } from "../protocol/limits.ts";
import type { Role } from "../protocol/roles.ts";
import type { UnsealedRecord } from "../protocol/record.ts";
import { recordOf } from "../protocol/recording.ts";
import type { Instant } from "../protocol/timestamp.ts";
import { EXIT_DONE, EXIT_FAILED } from "./exit.ts";
import { usageOf } from "./usage.ts";

export interface Closing {
  readonly session_id: string;
  readonly mode: string;
  readonly opened_at: Instant;
  readonly at: Instant;
  readonly command: Extract<Command, { do: "finish" }>;
  readonly figures: LedgerFigures;
  /** The last record before the report. */
  readonly head: Head;
  readonly records: Lookup;
}

/** The final report and the session's closing record, which are one commit. A function of the log before them: a replay makes the same. */
export function closingRecords(closing: Closing): [report: UnsealedRecord, closed: UnsealedRecord] {
  const { session_id, at, command, figures } = closing;
  const why = command.reason === undefined ? {} : { reason: command.reason };
  const report: JsonObject = {
    ...(resolve(fitting(command.report, MAX_PAYLOAD_BYTES), closing.records) as JsonObject),
    session_id,
    mode: closing.mode,
    outcome: command.outcome,
    ...why,
    started_at: closing.opened_at,
    finished_at: at,
    usage: usageOf(figures),
    recoveries: figures.recoveries,
    ...sandboxesOf(closing),
    log: { records: closing.head.sequence, head: closing.head.hash },
  };
  const exit_code = command.outcome === "done" ? EXIT_DONE : EXIT_FAILED;
  const base = {
    session_id,
    at,
    source: "scheduler",
    target: "user",
    kind: "decided",
    disposition: "applied",
  } as const;
  return [
    recordOf({ ...base, payload_type: "final_report", payload: report }),
    recordOf({
      ...base,
      target: "session",
      payload_type: "session_closed",
      payload: { outcome: command.outcome, ...why, exit_code },
    }),
  ];
}

/** What each role's program was kept from, as the first record says. */
function sandboxesOf({ records }: Closing): JsonObject {
  const { roles = [] } = resolve({ roles: { ...from(1, "/roles") } }, records) as {
    roles?: Pick<Role, "role_id" | "sandbox">[];
  };
  const kept = roles.flatMap(({ role_id, sandbox = "none" }) => (sandbox === "none" ? [] : [[role_id, sandbox]]));
  return kept.length === 0 ? {} : { sandboxes: Object.fromEntries(kept) as JsonObject };
}
