import { dirname, join } from "node:path";
import { shellWord } from "../lib/shell-word.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import type { Holder, SessionRow } from "./store.ts";

/** The environment variable that accepts a home on a shared file system: `BOSUN_SHARED_HOME=accept`. */
export const ACCEPT_SHARED_HOME = "BOSUN_SHARED_HOME";

/** Another process holds the session: `busy`, naming the holder if it is known. */
export function busy(session_id: string, holder: Holder | undefined): Failure {
  const since = holder?.started_at === undefined ? "" : ` since ${holder.started_at}`;
  const who = holder === undefined ? "another process" : `process ${holder.pid} on ${holder.host}${since}`;
  return failure("busy", `The session ${session_id} is held by ${who}.`, {
    hint: `Watch it with \`bosun attach ${session_id}\`, or end that process and try again.`,
    ...(holder === undefined ? {} : { details: { ...holder } }),
  });
}

/** The session has no record: `not_found`. */
export function neverBegun({ session_id, parent }: SessionRow): Failure {
  return failure("not_found", `Session ${session_id} never began: it has no record.`, {
    hint:
      parent === null
        ? "Begin another: bosun run"
        : `Its parent session ended without it: see \`bosun status ${parent}\`.`,
  });
}

/** The path of a session's lock is taken by something else: `storage`. */
export function notALock(path: string): Failure {
  return failure("storage", `The lock path of the session is taken by something else: ${path}.`, {
    hint: "Move it away. That is safe while no process runs the session: a lock file has no content and is made anew.",
  });
}

/** The id of a new session is taken: `busy`. */
export function taken(session_id: string): Failure {
  return failure("busy", `Session ${session_id} already exists.`, {
    hint: `Continue it with \`bosun resume ${session_id}\`, or choose another id.`,
  });
}

/** The database is not a database, or not one that the migrations made: `storage`. */
export function damaged(file: string, why: string): Failure {
  return failure("storage", `The database is damaged, or is not a Bosun database: ${file} (${why}).`, {
    hint: `Every record is also a file in the logs: ${verifyCommand(dirname(file))} To make the database anew from them, and keep this one beside it: bosun rebuild`,
    details: { damaged: true },
  });
}

/** A row of a session is not what was committed: `verification_failed`. */
export function verificationFailed(file: string, session_id: string, what: string, sequence: number | null): Failure {
  return failure("verification_failed", `The database ${file} is damaged or was changed: ${what}.`, {
    hint: `\`bosun replay ${session_id} --verify\` names what differs; \`bosun rebuild ${session_id}\` makes its rows again from its log folder, and keeps a copy of the database.`,
    details: { session_id, sequence },
  });
}

/** A committed record is missing or unreadable: `verification_failed`. */
export function recordLost(file: string, session_id: string, sequence: number): Failure {
  return verificationFailed(file, session_id, `record ${sequence} of ${session_id} is lost`, sequence);
}

/** Another process took the session over: `stale_lease`. */
export function stale(session_id: string): Failure {
  return failure("stale_lease", `This process no longer holds the session ${session_id}.`, {
    hint: `Another process took it over; \`bosun status ${session_id}\` shows which.`,
  });
}

/** A sentence on how to verify sessions without the database. */
export function verifyCommand(home: string): string {
  return `\`bosun replay ${shellWord(join(home, "logs"))}/SESSION --verify\` checks one session.`;
}
