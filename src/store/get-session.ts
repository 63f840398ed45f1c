import type { Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { openReader } from "./sqlite-store.ts";
import type { SessionRow, StoreReader } from "./store.ts";

/**
 * The row of a session, by its id or a prefix that only one session has; from a home, which is opened for this call, or from a reader that
 * is open. Failures: `not_found`, `usage` for an ambiguous prefix, and those of `openReader`.
 */
export function getSession(from: string | StoreReader, session_id: string): Result<SessionRow, Failure> {
  if (typeof from !== "string") return from.session(session_id);
  const reader = openReader(from);
  if (!reader.ok) return reader;
  try {
    return reader.value.session(session_id);
  } finally {
    reader.value.close();
  }
}
