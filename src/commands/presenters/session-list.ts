import { formatDuration } from "../../lib/durations.ts";
import type { Failure } from "../../protocol/failure.ts";
import { milliseconds } from "../../protocol/timestamp.ts";
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

export function holderOf(store: StoreReader, { session_id }: SessionRow): Omit<ListedSession, "row"> {
  try {
    return { owner: store.holder(session_id) };
  } catch (error) {
    if (error instanceof StorageError) return { trouble: error.failure };
    throw error;
  }
}

/** The list as parts of a screen. */
export function listParts(out: Output, sessions: readonly ListedSession[], now: number): Part[] {
  const rows = sessions.map(({ row, owner, trouble }) => [
    row.session_id,
    trouble === undefined ? standing(row, owner !== undefined) : `unknown (${row.state})`,
    formatDuration(now - milliseconds(row.updated_at)),
    clipped(row.requirement ?? "", PROSE_WIDTH),
  ]);
  const columns = [
    { heading: "SESSION", widest: 40 },
    { heading: "STATE", widest: 30 },
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
