import { type Failure, failure } from "../protocol/failure.ts";
import { damagedHint } from "./damage.ts";
import type { Holder, SessionRow } from "./store.ts";

/** The variable of the environment by which a person accepts such a home: `BOSUN_SHARED_HOME=accept`. */
export const ACCEPT_SHARED_HOME = "BOSUN_SHARED_HOME";

/** The home lies where machines share files: `environment`. */
export function sharedHome(home: string, name: string): Failure {
  return failure(
    "environment",
    `The home ${home} lies on ${name}, where files are shared between machines and a database's locks cannot be relied on.`,
    {
      hint: `Put the home on a disk of this machine with --home or BOSUN_HOME. If only one machine ever uses it and you mean it: ${ACCEPT_SHARED_HOME}=accept.`,
      details: { file_system: name },
    },
  );
}

/** Somebody else holds the session: `busy`, naming the holder if known. */
export function busy(session_id: string, holder: Holder | undefined): Failure {
  const since = holder?.started_at === undefined ? "" : ` since ${holder.started_at}`;
  const who = holder === undefined ? "another process" : `process ${holder.pid} on ${holder.host}${since}`;
  return failure("busy", `The session ${session_id} is held by ${who}.`, {
    hint: `Watch it with \`bosun attach ${session_id}\`, or end that process and try again.`,
    ...(holder === undefined ? {} : { details: { ...holder } }),
  });
}

/** Nothing was ever recorded of the session: `not_found`. */
export function neverBegun({ session_id, parent }: SessionRow): Failure {
  return failure("not_found", `Session ${session_id} was never begun: it has no record.`, {
    hint:
      parent === null ? "Begin another: bosun run" : `Its parent has ended without it: see \`bosun status ${parent}\`.`,
  });
}

/** What stands in the place of a session's lock cannot be locked: `storage`. */
export function noLock(path: string): Failure {
  return failure("storage", `What stands in the place of a session's lock is none: ${path}.`, {
    hint: "Move it away, which is safe while nobody runs the session: a lock holds nothing, and is made anew.",
  });
}

/** The id of a new session is another's: `busy`. */
export function taken(session_id: string): Failure {
  return failure("busy", `There is a session ${session_id} already.`, {
    hint: `Go on with \`bosun resume ${session_id}\`, or choose another id.`,
  });
}

/** The database has other tables than Bosun's: `storage`. */
export function notOurs(file: string, why: string): Failure {
  return failure("storage", `The database is damaged, or is no Bosun database: ${file} (${why}).`, {
    hint: damagedHint(file),
  });
}

/** The last record of the session is not the one it was committed with: `storage`. */
export function incomplete(file: string, { session_id, last_sequence }: SessionRow): Failure {
  return failure(
    "storage",
    `The database ${file} is damaged: it does not hold record ${last_sequence} of ${session_id} as it was written.`,
    { hint: damagedHint(file) },
  );
}

/** A record that was committed is not there any more: `storage`. */
export function lost(file: string, session_id: string, sequence: number): Failure {
  return failure("storage", `The database ${file} is damaged: record ${sequence} of ${session_id} is lost.`, {
    hint: damagedHint(file),
  });
}

/** The session was taken over: `stale_lease`. */
export function stale(session_id: string): Failure {
  return failure("stale_lease", `The session ${session_id} is no longer this process's to write.`, {
    hint: `Another process took it over; \`bosun status ${session_id}\` tells which.`,
  });
}
