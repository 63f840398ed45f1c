import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import { fails, type Failure, failure } from "../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import type { Action } from "./context/command.ts";
import { withHome } from "./context/home.ts";
import { commandMessage, putMessage, tellPut } from "./interaction/put.ts";
import { whenTold } from "../ui/words.ts";
import { openHomeOf } from "./lookup/homes.ts";
import { engineOf, named } from "./lookup/modes.ts";
import { BY_SESSION, CHANGE_OPEN, resolveTarget, SHOW_OPEN } from "./lookup/resolve.ts";

interface TellOptions {
  readonly session?: string;
}

const QUOTED = 'Put the text in quotes: bosun tell s-abc survey "Leave out generated files."';

/** `bosun tell`: sends a note to the agents of a session or of one ticket: to running turns that can take it, and to all that start from now on. */
export function register(command: Command): Action<TellOptions> {
  command
    .usage("[options] [session] [ticket] <text>")
    .argument(
      "[words...]",
      "the session and the ticket (both optional unless several sessions are running), and the text",
    )
    .option(...BY_SESSION);
  return async (context, words, { session }) => {
    const text = words.at(-1)?.trim() ?? "";
    if (text === "" || words.length > 3) {
      return fails("usage", text === "" ? "The text is empty." : "Too many arguments.", { hint: QUOTED });
    }
    return withHome(await openHomeOf(context, session ?? words.slice(0, -1)[0]), async ({ store }) => {
      if (isOnlyNamed(store, session === undefined ? words : [session, ...words], text)) {
        return fails("usage", `The text is missing: ${JSON.stringify(text)} names a session or a ticket.`, {
          hint: QUOTED,
        });
      }
      const target = resolveTarget(store, { words: words.slice(0, -1), session, command: "tell" }, CHANGE_OPEN);
      if (!target.ok) return target;
      const { row, ticket_id } = target.value;
      const unheard = ticket_id === undefined ? undefined : await whyUnheard(store, row, ticket_id);
      if (unheard) return err(unheard);
      const message = commandMessage({ command: "tell", text, ...(ticket_id === undefined ? {} : { ticket_id }) });
      const who = ticket_id === undefined ? "All agents" : `Agents working on ${ticket_id}`;
      const put = await putMessage(store, row, message);
      if (!put.ok) return put;
      const record = put.value.took === "taken" ? put.value.record : undefined;
      const when = record && whenTold(record).replace(/^./, (first) => first.toUpperCase());
      return ok(tellPut(context, put.value, when && `${when}. ${who} read it in every turn that begins from now on.`));
    });
  };
}

/** Why no agent would read a note about a subject. */
async function whyUnheard(store: StoreReader, row: SessionRow, id: string): Promise<Failure | undefined> {
  const engine = await engineOf(store, row);
  if (!engine.ok) return engine.error;
  const { mode, state } = engine.value;
  if (mode.hears?.(state, id) !== false) return undefined;
  const what = `${named(row, id)} is ${mode.subject(state, id)?.status}: no agent would read the note.`;
  return failure("usage", what, { hint: `To tell all agents: bosun tell ${row.session_id} "…".` });
}

/** Whether the last word, which should be the text, names a session or a ticket. */
function isOnlyNamed(store: StoreReader, words: readonly string[], text: string): boolean {
  const named = words.length > 2 ? undefined : resolveTarget(store, { words, command: "tell" }, SHOW_OPEN);
  return named?.ok === true && [named.value.row.session_id, named.value.ticket_id].includes(text);
}
