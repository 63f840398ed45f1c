import { openTurns } from "../kernel/deltas.ts";
import { isOver } from "../kernel/presentation.ts";
import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import type { StoreReader } from "../store/store.ts";
import { counted } from "../ui/words.ts";
import type { Action } from "./context/command.ts";
import { confirmHere } from "./interaction/confirm.ts";
import { ownerOf, tellPut } from "./interaction/put.ts";
import { cancelFound } from "./driver/cancelling.ts";
import { openHomeOf, withSession } from "./lookup/homes.ts";
import { BY_SESSION, CHANGE_OPEN, CHANGED_SESSION } from "./lookup/resolve.ts";
import { readSession, type StoredView } from "./lookup/view.ts";

interface CancelOptions {
  readonly session?: string;
  readonly reason?: string;
  readonly yes?: boolean;
}

/** `bosun cancel`: ends a session, or one ticket of it. A session that is not running is closed by this process. */
export function register(command: Command): Action<CancelOptions> {
  command
    .argument(...CHANGED_SESSION)
    .argument("[ticket]", "only this ticket")
    .option(...BY_SESSION)
    .option("--reason <text>", "why, for the record")
    .option("-y, --yes", "end a session without asking");
  return async (context, words, { session, reason, yes }) => {
    const typed = { words, session, command: "cancel" };
    return withSession(openHomeOf, context, typed, CHANGE_OPEN, async (found) => {
      const { home, store, row, ticket_id } = found;
      if (ticket_id === undefined && yes !== true && context.terminal.hasPerson) {
        const view = await readSession(store, home, row);
        if (!view.ok) return view;
        const declined = await confirmHere(context, cancelQuestion(store, view.value), "no");
        if (declined !== undefined) {
          context.terminal.out.line("Nothing was cancelled.");
          return ok(declined);
        }
      }
      const cancelled = await cancelFound(context, found, reason, "plain");
      if (!cancelled.ok) return cancelled;
      return ok(typeof cancelled.value === "number" ? cancelled.value : tellPut(context, cancelled.value));
    });
  };
}

/** The question before a session is cancelled, which names what ends. */
function cancelQuestion(store: StoreReader, { row, presentation, tickets, ledger }: StoredView): string {
  const { session_id } = row;
  const unfinished = tickets.filter(({ status }) => !isOver(presentation, status)).length;
  const working = ownerOf(store, row) === undefined ? 0 : openTurns(ledger).length;
  const ends = [
    ...(unfinished === 0
      ? []
      : [`${counted(unfinished, `unfinished ${presentation.subjectName}`)} ${unfinished === 1 ? "ends" : "end"}`]),
    ...(working === 0 ? [] : [`${counted(working, "agent")} at work ${working === 1 ? "is" : "are"} stopped`]),
  ];
  return `Cancel ${session_id}?${ends.length === 0 ? "" : ` ${ends.join(", ")}.`}`;
}
