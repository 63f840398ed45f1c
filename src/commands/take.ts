import type { Command } from "commander";
import { goingOn } from "../agents/cli/dialects/index.ts";
import { copyOf } from "../copies/copy.ts";
import { keyOf } from "../kernel/conversations.ts";
import { shownStatus } from "../kernel/presentation.ts";
import { shellWord } from "../lib/shell-word.ts";
import { err, ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { directoryOf } from "../runtime/copies/copies.ts";
import { busy } from "../store/failures.ts";
import { hanging, safeLine } from "../ui/display.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { type FoundCopies, withCopies } from "./lookup/copies.ts";
import { readHomeOf } from "./lookup/homes.ts";
import type { Policy } from "./lookup/resolve.ts";
import { readSession, type StoredView } from "./lookup/view.ts";
import type { StoreReader } from "../store/store.ts";

const TAKE: Policy = { closed: "newest", ticket: true };

/** `bosun take`: says where a ticket's copy is, and how a person goes on with the conversation of its agent. */
export function register(command: Command): Action<object> {
  command
    .usage("[options] [session] <ticket>")
    .argument("[words...]", "the session (default: the running one, else the newest) and the ticket");
  return (context, words) =>
    withCopies(readHomeOf, context, { words, command: "take" }, TAKE, (found) => take(context, found));
}

async function take({ terminal: { out } }: CommandContext, found: FoundCopies<StoreReader>): Promise<Exit> {
  const { home, store, row, session_id, ticket_id, copies } = found;
  if (ticket_id === undefined)
    return fails("usage", "The ticket is missing.", { hint: `Name one: bosun take ${session_id} TICKET` });
  const holder = store.holder(session_id);
  if (holder !== undefined)
    return err({ ...busy(session_id, holder), hint: `To work in its copies yourself: bosun stop ${session_id}` });
  const view = await readSession(store, home, row);
  if (!view.ok) return view;
  const { presentation, tickets, waiting } = view.value;
  const status = tickets.find((one) => one.ticket_id === ticket_id)?.status ?? "";
  const { stage } = shownStatus(presentation, status);
  if (stage === "done")
    return fails("usage", `${ticket_id} is merged: what is changed in its copy now comes nowhere.`, {
      hint: `bosun diff ${session_id} ${ticket_id}`,
    });
  if (copyOf(copies.place, ticket_id) === undefined)
    return fails("not_found", `${ticket_id} has no copy yet: nobody has worked on it.`, {
      hint: `bosun resume ${session_id}`,
    });
  out.line(`cd ${shellWord(safeLine(directoryOf(copies, ticket_id)))}`);
  const goOn = conversationOf(found, view.value, ticket_id);
  if (goOn !== undefined) out.line(goOn.map((word) => shellWord(safeLine(word))).join(" "));
  const isAsked = waiting.some((one) => one.kind === "review" && one.ticket_id === ticket_id);
  const back = isAsked
    ? `bosun review ${session_id} ${ticket_id} --changes "…"`
    : `bosun ${stage === "failed" ? `retry ${session_id} ${ticket_id}` : `resume ${session_id}`}`;
  const words =
    "Its worker goes on from the files that you leave there, committed or not; then they are checked, reviewed and merged:";
  out.line();
  for (const line of hanging(words, out.width, 0)) out.line(line);
  tellNext(out, back);
  return ok(EXIT_DONE);
}

/** The command that continues the latest conversation of a worker about a ticket, if one is known. */
function conversationOf({ opened }: FoundCopies<StoreReader>, { ledger }: StoredView, ticket_id: string) {
  const cut = [...ledger.turns.values()].filter(({ subject }) => subject === ticket_id);
  for (const role of opened.roles.filter(({ type }) => type === "worker")) {
    const own = cut.find(({ role_id, conversation }) => role_id === role.role_id && conversation !== undefined);
    const kept = own?.conversation ?? ledger.conversations.get(keyOf(role.role_id, ticket_id));
    if (kept !== undefined) return goingOn(role, kept.id);
  }
  return undefined;
}
