import { err, ok } from "../../lib/result.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import { idsOf } from "../../protocol/question-ids.ts";
import { catchStorage } from "../../store/storage-error.ts";
import type { SessionRow, Store, StoreReader } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import {
  homeOf,
  isNamed,
  isUnused,
  type OpenHome,
  openExistingHome,
  openHomeAt,
  otherHomes,
  readHome,
  readHomeAt,
  withHome,
} from "../context/home.ts";
import { isGeneratedId } from "./id.ts";
import { hasSubject } from "./modes.ts";
import { isBegun, type Policy, resolveTarget, sessionWith, type Target, type Typed } from "./resolve.ts";
import { neededOf } from "./view.ts";

// A session is looked up in the home of the current directory first, then in all other homes of this user, so that a printed command
// works from anywhere. A home that is named (`--home`, `BOSUN_HOME`) is the only one.

/** Opens for reading the home that has the session with this id or unique prefix; without a name, the current home. */
export function readHomeOf(
  context: CommandContext,
  named: string | undefined,
): Promise<Fallible<OpenHome<StoreReader>>> {
  return homeOfSession(context, named, readHome(context), readHomeAt);
}

/** The same for writing. */
export function openHomeOf(context: CommandContext, named: string | undefined): Promise<Fallible<OpenHome<Store>>> {
  return homeOfSession(context, named, openExistingHome(context), openHomeAt);
}

/** A session in its open home, and a ticket of it if one was named. */
export interface Found<S extends StoreReader> extends OpenHome<S>, Target {
  readonly session_id: string;
}

/** Runs work with the session that was typed, or that the policy chooses. Its home is opened by `open`, and closed behind the work. */
export async function withSession<S extends StoreReader, T>(
  open: (context: CommandContext, named: string | undefined) => Promise<Fallible<OpenHome<S>>>,
  context: CommandContext,
  typed: Typed,
  policy: Policy,
  work: (found: Found<S>) => Promise<Fallible<T>>,
): Promise<Fallible<T>> {
  const named = typeof typed === "object" ? (typed.session ?? typed.words[0]) : typed;
  return withHome(await open(context, named), async (home) => {
    const target = resolveTarget(home.store, typed, policy);
    return target.ok ? work({ ...home, ...target.value, session_id: target.value.row.session_id }) : target;
  });
}

async function homeOfSession<S extends StoreReader>(
  context: CommandContext,
  named: string | undefined,
  here: Fallible<OpenHome<S>>,
  open: (context: CommandContext, home: string) => Fallible<OpenHome<S>>,
): Promise<Fallible<OpenHome<S>>> {
  if (named === undefined || named === "" || isNamed(context)) return here;
  if (here.ok ? await isKnownIn(here.value.store, named) : here.error.code !== "not_found") return here;
  const found = await findElsewhere(context, named);
  if (found.ok && found.value === undefined) return here.ok ? here : err(nowhere(named, []));
  if (here.ok) here.value.store.close();
  return found.ok ? open(context, found.value as string) : found;
}

/** Whether the word names a session of this home, a ticket of any of them, or a question of a current one. */
async function isKnownIn(store: StoreReader, word: string): Promise<boolean> {
  const row = store.session(word);
  if (row.ok || row.error.code !== "not_found") return true;
  return sessionWith(store, word) !== undefined || (await currentSessionsWith(store, word)).length > 0;
}

/** The open sessions, and the newest session, that have a ticket or an open question with this name. */
export async function currentSessionsWith(store: StoreReader, word: string): Promise<SessionRow[]> {
  const begun = store.sessions({ parent: null }).filter(isBegun);
  const found: SessionRow[] = [];
  for (const [index, row] of begun.entries()) {
    if (index > 0 && row.state === "closed") continue;
    if (hasSubject(store, row, word) || (await asks(store, row, word))) found.push(row);
  }
  return found;
}

async function asks(store: StoreReader, { session_id }: SessionRow, word: string): Promise<boolean> {
  const needed = await catchStorage(async () => ok(await neededOf(store, session_id)));
  if (!needed.ok) return false;
  return needed.value.waiting.some((one) => (one.kind === "question" ? idsOf(one) : [one.ask_id]).includes(word));
}

/**
 * The other home that has the session: the most recently used one with exactly this id, else the only one with the prefix. Undefined if there
 * is none. Never guesses a ticket or question of another home: the failure names its session.
 */
async function findElsewhere(context: CommandContext, word: string): Promise<Fallible<string | undefined>> {
  const current = homeOf(context);
  const isId = isGeneratedId(word);
  const found: { readonly home: string; readonly session_id: string }[] = [];
  const unread: Failure[] = [];
  for (const home of otherHomes(context, current.ok ? current.value : undefined)) {
    const looked = await lookInto(context, home, async (store) => {
      const row = store.session(word);
      if (row.ok && row.value.session_id === word) return home;
      const ids = isId ? idsIn(row) : (await currentSessionsWith(store, word)).map(({ session_id }) => session_id);
      found.push(...ids.map((session_id) => ({ home, session_id })));
      return undefined;
    });
    if (!looked.ok) unread.push(looked.error);
    else if (looked.value !== undefined) return ok(looked.value);
  }
  const [first] = found;
  if (first === undefined) return isId && unread.length > 0 ? err(nowhere(word, unread)) : ok(undefined);
  if (isId && found.length === 1) return ok(first.home);
  const named = found.map(({ home, session_id }) => `${session_id} in ${home}`).join(", ");
  const details = { candidates: found.map(({ session_id }) => session_id) };
  const quoted = JSON.stringify(word);
  return isId
    ? fails("usage", `More than one session begins with ${quoted}: ${named}.`, {
        hint: "Type more of its id.",
        details,
      })
    : fails("not_found", `${quoted} is nothing of this home; it belongs to ${named}.`, {
        hint: `Name the session too: ${first.session_id} ${word}.`,
        details,
      });
}

/** The home of the current directory, which may not exist, then the other homes of this user, unless one is named or only this one is wanted. */
export function allHomes(context: CommandContext, here = false): Fallible<string[]> {
  const first = homeOf(context);
  return first.ok ? ok([first.value, ...(here ? [] : otherHomes(context, first.value))]) : first;
}

/** What `look` finds in each home, or why one cannot be read. Fails if that is the first, unless it was simply never used. */
export async function lookIntoAll<T>(
  context: CommandContext,
  homes: readonly string[],
  look: (store: StoreReader, home: string) => Promise<T>,
): Promise<Fallible<Fallible<T>[]>> {
  const found: Fallible<T>[] = [];
  for (const [index, home] of homes.entries()) {
    const looked = await lookInto(context, home, (store) => look(store, home));
    if (index > 0 || looked.ok) found.push(looked);
    else if (!isUnused(context, home, looked.error)) return looked;
  }
  return ok(found);
}

/** Reads a home. Failures are values, because one broken home must not hide the others. */
export function lookInto<T>(
  context: CommandContext,
  home: string,
  look: (store: StoreReader) => Promise<T>,
): Promise<Fallible<T>> {
  return withHome(readHomeAt(context, home), ({ store }) => catchStorage(async () => ok(await look(store))));
}

function idsIn(row: Fallible<SessionRow>): string[] {
  if (row.ok) return [row.value.session_id];
  return (row.error.details?.candidates ?? []) as string[];
}

/** The failure for a session of no home, of which some could not be read. */
function nowhere(word: string, unread: readonly Failure[]): Failure {
  const where = unread.length > 0 ? "the homes that can be read" : "any of your homes";
  const inbox = "`bosun inbox` shows what waits for you in all of them; --home names another one.";
  const hint = [...unread.map(({ message }) => message), inbox].join("\n");
  return failure("not_found", `There is no session ${JSON.stringify(word)} in ${where}.`, { hint });
}
