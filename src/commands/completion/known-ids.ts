import { objectOf } from "../../lib/json.ts";
import { openUntouched } from "../../store/sqlite-store.ts";
import type { StoreReader } from "../../store/store.ts";
import { wordsOf } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { homeOf, otherHomes } from "../context/home.ts";
import { waitingOf } from "../lookup/asks.ts";
import { subjectsIn } from "../lookup/modes.ts";
import { isBegun, resolveSession, SHOW } from "../lookup/resolve.ts";
import { openedWith } from "../lookup/state.ts";

/** A completion of the typed word, and its description. */
export interface Candidate {
  readonly value: string;
  readonly about?: string;
}

/** The person waits meanwhile, so only the most recently used homes are read, and only the newest sessions of each are offered. */
const MAX_HOMES = 10;
const MAX_SESSIONS = 50;

/** The sessions of the command's home, then of the others, newest first in each. */
export async function sessionIds(context: CommandContext, which: "open" | "all"): Promise<Candidate[]> {
  const found: Candidate[] = [];
  await inHomes(context, async (store) => {
    const rows = store.sessions({ parent: null }).filter(isBegun);
    const fitting = rows.filter(({ state }) => which === "all" || state !== "closed").slice(0, MAX_SESSIONS);
    for (const { session_id, state, outcome, requirement } of fitting)
      found.push({ value: session_id, about: `${outcome ?? state}: ${requirement ?? ""}` });
    return undefined;
  });
  return found;
}

/** The tickets of a session, or its mode's equivalent. */
export const ticketIds = inSession(async (store, session_id) => {
  const stored = await store.load(session_id);
  const subjects = stored.ok ? subjectsIn(stored.value) : [];
  return Array.from(subjects, ({ id, value }) => ({ value: id, about: wordsOf(objectOf(value).status) }));
});

/** The ids that `bosun answer` takes: the open questions of a session, and the permissions that it waits for. */
export const questionIds = inSession(async (store, session_id) => {
  const waiting = await waitingOf(store, session_id);
  return (waiting.ok ? waiting.value : []).flatMap((one): Candidate[] => {
    if (one.kind === "question") return [{ value: one.question_id, about: one.text }];
    return one.kind === "permission" ? [{ value: one.ask_id, about: `${one.role_id} wants ${one.action}` }] : [];
  });
});

export const roleIds = inSession(async (store, session_id) =>
  (openedWith(store, session_id)?.roles ?? []).map(({ role_id, type }) => ({ value: role_id, about: type })),
);

/** Looks into the session with this id or unique prefix; without a name, into the default session of the first home that has one. */
function inSession(look: (store: StoreReader, session_id: string) => Promise<Candidate[]>) {
  return async (context: CommandContext, named: string | undefined): Promise<Candidate[]> => {
    const found = await inHomes(context, async (store) => {
      const row = named === undefined ? resolveSession(store, undefined, SHOW) : store.session(named);
      return row.ok && isBegun(row.value) ? look(store, row.value.session_id) : undefined;
    });
    return found ?? [];
  };
}

/**
 * Reads the homes until something is found. Creates nothing and remembers no home, because the person has not pressed Enter. A home that
 * cannot be read is skipped.
 */
async function inHomes(
  context: CommandContext,
  look: (store: StoreReader) => Promise<Candidate[] | undefined>,
): Promise<Candidate[] | undefined> {
  const here = homeOf(context);
  const homes = here.ok ? [here.value, ...otherHomes(context, here.value)] : otherHomes(context, undefined);
  for (const home of homes.slice(0, MAX_HOMES)) {
    const reader = openUntouched(home);
    if (!reader.ok) continue;
    try {
      const found = await look(reader.value);
      if (found !== undefined) return found;
    } catch {
      // The next home may be readable.
    } finally {
      reader.value.close();
    }
  }
  return undefined;
}
