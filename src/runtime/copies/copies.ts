import { join, relative } from "node:path";
import { folderOf } from "../../copies/copy.ts";
import type { Place } from "../../copies/place.ts";
import type { TurnRequest } from "../../kernel/agent.ts";
import type { TurnDraft } from "../../kernel/mode.ts";
import { realPath } from "../../lib/files.ts";
import type { Git } from "../../lib/git.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import type { SessionPaths } from "../paths.ts";

/** The person's repository, as the first record of a session with copies names it. */
export type SessionRepository = NonNullable<PayloadByType["session_opened"]["repository"]>;

/** The copies of a running session's repository. */
export interface Copies {
  readonly place: Place;
  readonly repository: SessionRepository;
  /** The workspace within the repository. */
  readonly inner: string;
  readonly turns: Turnstile;
}

/** The copy for turns about no ticket. No ticket has such an id. */
const SESSION_COPY = ".session";

const NOBODY = { name: "Bosun", email: "bosun@localhost" };

/** Where a session has its repository. */
export function placeOf(session_id: string, paths: SessionPaths, repository: SessionRepository, git: GitWith): Place {
  const committer = repository.committer ?? NOBODY;
  return { session_id, folder: paths.copies, git: git(marksOf(session_id, paths)), committer };
}

/** The variables by which the programs that a command starts for a session can be told, like its agents. */
export function marksOf(session_id: string, paths: SessionPaths) {
  return { BOSUN_SESSION_ID: session_id, BOSUN_ARTIFACTS_DIR: paths.work(undefined) };
}

/** Git in the environment of this process, with these variables. */
export type GitWith = (own: Readonly<Record<string, string>>) => Git;

export function copiesOf(place: Place, workspace: string, repository: SessionRepository): Copies {
  const inner = relative(realPath(repository.root), realPath(workspace));
  return { place, repository, inner, turns: new Turnstile() };
}

/** The id of the copy for a subject, or for the session. */
export function copyFor(subject: string | undefined): string {
  return subject ?? SESSION_COPY;
}

/** The workspace of child sessions about a subject. */
export function childWorkspace({ copies, workspace }: Workspaces, subject: string | undefined): string {
  return copies === undefined ? workspace : directoryOf(copies, copyFor(subject));
}

/** The subject in whose copy a turn works; undefined for that of the session. */
export function copyOf({ copies }: Workspaces, { payload, stamp: { subject } }: TurnRequest): string | undefined {
  const isInIts = copies && subject !== undefined && payload.workspace === directoryOf(copies, subject);
  return isInIts ? subject : undefined;
}

type Workspaces = { readonly copies?: Copies | undefined; readonly workspace: string };

/**
 * Where a turn works: a worker, or who reviews, in the ticket's copy, all others in that of the session, because programs keep a conversation by its
 * directory.
 */
export function workspaceFor(
  { copies, workspace }: Workspaces,
  role: Pick<Role, "type">,
  draft: Pick<TurnDraft, "alone">,
  subject: string | undefined,
): string {
  if (copies === undefined) return workspace;
  return directoryOf(copies, role.type === "worker" || draft.alone === true ? copyFor(subject) : SESSION_COPY);
}

/** The workspace in a copy. */
export function directoryOf({ place, inner }: Copies, id: string): string {
  return join(folderOf(place, id), "tree", inner);
}

/** Lets one after the other pass, for each key. */
class Turnstile {
  readonly #last = new Map<string, Promise<unknown>>();

  pass<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const done = before.then(work, work);
    this.#last.set(key, done);
    return done;
  }
}
