import { formatDuration } from "../../lib/durations.ts";
import type { Failure } from "../../protocol/failure.ts";
import { milliseconds } from "../../protocol/timestamp.ts";
import { sessionTime } from "../../runtime/time/session-time.ts";
import { keptRecord } from "../../store/kept-record.ts";
import { StorageError } from "../../store/storage-error.ts";
import type { Holder, SessionRow, StoreReader } from "../../store/store.ts";
import { clipped } from "../../ui/display.ts";
import { firstLines, type Part, partOf } from "../../ui/parts.ts";
import { PROSE_WIDTH, tableLines } from "../../ui/table.ts";
import type { Output } from "../../ui/terminal.ts";
import { tellNext } from "../../ui/words.ts";
import { isBegun } from "../lookup/resolve.ts";
import { standing } from "./session.ts";

/** A session in the list, and its owner or why it cannot be read: one broken lock must not hide all sessions. */
export interface ListedSession {
  readonly row: SessionRow;
  readonly owner?: Holder | undefined;
  /** How long ago a running session wrote its last record, in ms of its own time. */
  readonly idle_ms?: number | undefined;
  readonly trouble?: Failure;
}

/** All sessions, newest first. Reading the owner of a closed one takes time, so it is left out unless `all` is set. */
export function sessionList(store: StoreReader, all: boolean): ListedSession[] {
  const begun = store.sessions({ parent: null }).filter(isBegun);
  return begun.map((row) => (all || row.state !== "closed" ? withHolder(store, row) : { row }));
}

/** Reads the owner first, so that what it wrote before it left is in the row. */
function withHolder(store: StoreReader, row: SessionRow): ListedSession {
  const found = holderOf(store, row);
  const now = store.session(row.session_id);
  return { row: now.ok ? now.value : row, ...found };
}

export function holderOf(store: StoreReader, { session_id, last_sequence }: SessionRow): Omit<ListedSession, "row"> {
  try {
    const owner = store.holder(session_id);
    if (owner === undefined || last_sequence === 0) return { owner };
    const { received_at } = keptRecord(store, session_id, last_sequence).record;
    return { owner, idle_ms: sessionTime(store, session_id, true) - milliseconds(received_at) };
  } catch (error) {
    if (error instanceof StorageError) return { trouble: error.failure };
    throw error;
  }
}

/** The list as parts of a screen. */
export function listParts(out: Output, sessions: readonly ListedSession[], now: number): Part[] {
  const rows = sessions.map(({ row, owner, idle_ms, trouble }) => [
    row.session_id,
    trouble === undefined ? standing(row, owner !== undefined) : `unknown (${row.state})`,
    formatDuration(idle_ms ?? now - milliseconds(row.updated_at)),
    clipped(row.requirement ?? "", PROSE_WIDTH),
  ]);
  const columns = [
    { heading: "SESSION", width: 40 },
    { heading: "STATE", width: 30 },
    { heading: "AGO" },
    { heading: "WHAT" },
  ];
  const [newest] = sessions;
  const write = (paper: Output) => {
    for (const line of tableLines(columns, rows, paper.width)) paper.line(line);
  };
  const next = (paper: Output) => {
    if (newest !== undefined) tellNext(paper, `bosun status ${newest.row.session_id}`);
  };
  return [
    partOf(out, 1, write, { shorter: (height, lines) => firstLines(lines, height, out.width, "…") }),
    partOf(out, 0, next, { joined: true }),
  ];
}
