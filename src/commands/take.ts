import { relative } from "node:path";
import type { Command } from "commander";
import { goingOn } from "../agents/cli/dialects/index.ts";
import { capture } from "../copies/capture.ts";
import { copyOf } from "../copies/copy.ts";
import { listedChanges } from "../kernel/changes.ts";
import { keyOf } from "../kernel/conversations.ts";
import type { LedgerTurn } from "../kernel/ledger.ts";
import { shownStatus } from "../kernel/presentation.ts";
import { shellWord } from "../lib/shell-word.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { directoryOf } from "../runtime/copies/copies.ts";
import { MAX_FILE_BYTES } from "../runtime/copies/deliver.ts";
import { recoverCopies } from "../runtime/copies/recover.ts";
import { busy } from "../store/failures.ts";
import { hanging, safeLine } from "../ui/display.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { alone, type Held } from "./driver/copies.ts";
import { takeUp } from "./driver/take-up.ts";
import type { PersonMessage } from "./interaction/put.ts";
import { type FoundCopies, withCopies } from "./lookup/copies.ts";
import { openHomeOf, readHomeOf } from "./lookup/homes.ts";
import type { Policy } from "./lookup/resolve.ts";
import { readSession, type StoredView } from "./lookup/view.ts";
import { addRunOptions, readRunOptions, type RunFlags } from "./options/run-options.ts";
import type { StoreReader } from "../store/store.ts";

const TAKE: Policy = { closed: "newest", ticket: true };

/** A person may change every path. */
const UNPROTECTED = { maxBytes: MAX_FILE_BYTES, protectedPaths: { globs: [], except: [] } };

interface GiveOptions extends RunFlags {
  readonly message?: string;
}

/** `bosun take`: says where a ticket's copy is, and how a person goes on with the conversation of its agent. */
export function register(command: Command): Action<object> {
  command
    .usage("[options] [session] <ticket>")
    .argument("[words...]", "the session (default: the running one, else the newest) and the ticket");
  return (context, words) =>
    withCopies(readHomeOf, context, { words, command: "take" }, TAKE, (found) => take(context, found));
}

/** `bosun give`: hands in what a person did in a ticket's copy, in place of its worker, and resumes the session with it. */
export function registerGive(command: Command): Action<GiveOptions> {
  command
    .usage("[options] [session] <ticket>")
    .argument("[words...]", "the session (default: the running one, else the newest) and the ticket")
    .option("-m, --message <text>", "what was done, for its reviewer and the commit");
  addRunOptions(command);
  return give;
}

async function take({ terminal: { out } }: CommandContext, found: FoundCopies<StoreReader>): Promise<Exit> {
  const { session_id, store, copies } = found;
  const holder = store.holder(session_id);
  if (holder !== undefined)
    return err({ ...busy(session_id, holder), hint: `To work in its copies yourself: bosun stop ${session_id}` });
  const taken = await openTicket(found, "take");
  if (!taken.ok) return taken;
  const { view, ticket_id, stage, owner } = taken.value;
  out.line(`cd ${shellWord(safeLine(directoryOf(copies, ticket_id)))}`);
  const goOn = conversationOf(found, view, ticket_id, owner);
  if (goOn !== undefined) out.line(goOn.map((word) => shellWord(safeLine(word))).join(" "));
  const isAsked = view.waiting.some((one) => one.kind === "review" && one.ticket_id === ticket_id);
  const back = isAsked
    ? `bosun review ${session_id} ${ticket_id} --changes "…"`
    : `bosun ${stage === "failed" ? `retry ${session_id} ${ticket_id}` : `resume ${session_id}`}`;
  const handIn = "What you leave there, committed or not, is checked, reviewed and merged once you hand it in:";
  const ways = [
    [handIn, `bosun give ${session_id} ${ticket_id}`],
    ["Or its worker goes on from it:", back],
  ] as const;
  for (const [words, next] of ways) {
    out.line();
    for (const line of hanging(words, out.width, 0)) out.line(line);
    tellNext(out, next);
  }
  return ok(EXIT_DONE);
}

async function give(context: CommandContext, words: readonly string[], options: GiveOptions): Promise<Exit> {
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  return withCopies(openHomeOf, context, { words, command: "give" }, TAKE, async (found) => {
    const { session_id, ticket_id = "" } = found;
    const message = await alone(context, found, (held) => handedIn(held, options.message));
    if (!message.ok) return message;
    const row = found.store.session(session_id);
    if (!row.ok) return row;
    const reopen = row.value.state === "closed" ? { reopen: `work on ${ticket_id} handed in` } : {};
    return takeUp(context, found, row.value, runOptions.value, { ...reopen, facts: [message.value] });
  });
}

/** Commits the files in a ticket's copy as a person's work. Returns the message with which the session takes it. */
async function handedIn(held: Held, summary = "Done by hand."): Promise<Fallible<PersonMessage>> {
  const { around, row, opened, copies } = held;
  const open = await openTicket(held, "give");
  if (!open.ok) return open;
  const { ticket_id, attempt } = open.value;
  const recovered = await recoverCopies(around, row, opened);
  if (!recovered.ok) return recovered;
  const at = around.clock.now();
  const given = {
    ...{ ticket_id, attempt, at },
    // No later work, of an agent or a person, has this ref.
    run: `given-${milliseconds(at)}`,
    author: copies.place.committer,
    subject: `${ticket_id}: ${summary.split("\n")[0]}`,
  };
  const captured = await capture(copies.place, given, UNPROTECTED);
  if (!captured.ok) return captured;
  if (captured.value.state === "refused") {
    const paths = captured.value.refused.map(({ path, why }) => `${path} ${why}`).join("; ");
    return fails("usage", `The work on ${ticket_id} cannot be taken over: ${paths}.`, {
      hint: "Undo that, then try again.",
    });
  }
  const { commit, start, files } = captured.value.work;
  const changes = files.map((file) => ({ ...file, path: relative(copies.inner, file.path) }));
  return ok({
    payload_type: "report",
    payload: { status: "completed", ticket_id, summary },
    work: { commit, start },
    ...(files.length > 0 && { changed_files: listedChanges(changes, []) }),
  });
}

/** The named ticket, if it is not merged and has a copy. */
async function openTicket(found: FoundCopies<StoreReader>, command: "take" | "give") {
  const { home, store, row, session_id, ticket_id, copies } = found;
  if (ticket_id === undefined)
    return fails("usage", "The ticket is missing.", { hint: `Name one: bosun ${command} ${session_id} TICKET` });
  const view = await readSession(store, home, row);
  if (!view.ok) return view;
  const ticket = view.value.tickets.find((one) => one.ticket_id === ticket_id);
  const { stage } = shownStatus(view.value.presentation, ticket?.status ?? "");
  if (stage === "done")
    return fails("usage", `${ticket_id} is merged already: changes in its copy are no longer used.`, {
      hint: `bosun diff ${session_id} ${ticket_id}`,
    });
  if (copyOf(copies.place, ticket_id) === undefined)
    return fails("not_found", `${ticket_id} has no copy yet: nobody has worked on it.`, {
      hint: `bosun resume ${session_id}`,
    });
  return ok({ view: view.value, ticket_id, stage, attempt: ticket?.attempt ?? 0, owner: ticket?.owner });
}

/** The command that continues the conversation of a ticket's worker about it, if one is known. */
function conversationOf(
  { opened }: FoundCopies<StoreReader>,
  { ledger }: StoredView,
  ticket_id: string,
  owner: string | null | undefined,
): readonly string[] | undefined {
  const role = opened.roles.find(({ role_id }) => role_id === owner);
  if (role === undefined) return undefined;
  const isCut = (turn: LedgerTurn) => turn.subject === ticket_id && turn.role_id === owner;
  const cut = [...ledger.turns.values()].find((turn) => isCut(turn) && turn.conversation !== undefined);
  const kept = cut?.conversation ?? ledger.conversations.get(keyOf(role.role_id, ticket_id));
  return kept && goingOn(role, kept.id);
}
