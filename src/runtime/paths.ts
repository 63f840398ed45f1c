import { join } from "node:path";

/** A session's directories in its home. */
export interface SessionPaths {
  readonly home: string;
  readonly log: string;
  readonly folder: string;
  readonly artifacts: string;
  readonly output: string;
  /** The session's repository, and the copies of it. */
  readonly copies: string;
  /** The same, once a person has discarded it. */
  readonly discarded: string;
  /** Where the agents of a subject, or of the session itself, put files. */
  work(subject: string | undefined): string;
}

export function sessionPaths(home: string, session_id: string): SessionPaths {
  const folder = join(home, "sessions", session_id);
  return {
    home,
    log: join(home, "logs", session_id),
    folder,
    artifacts: join(folder, "artifacts"),
    output: join(home, "logs", session_id, "output"),
    copies: join(folder, "copies"),
    discarded: join(folder, "trash", "copies"),
    work: (subject) => join(folder, "work", subject ?? "_session"),
  };
}
