import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { removeSession, restoreSession } from "../runtime/trash.ts";
import { trashOf } from "../store/trash.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { allHomes, openHomeOf, withSession } from "./lookup/homes.ts";
import { SHOW } from "./lookup/resolve.ts";

/** `bosun rm`: moves closed sessions to the trash of their home, and back. */
export function register(command: Command): Action<{ readonly restore?: boolean }> {
  command
    .argument("<sessions...>", "their ids or the beginnings of them; closed ones")
    .option("--restore", "bring them back from the trash");
  return async (context, ids, { restore = false }) => {
    for (const id of ids) {
      const moved = await (restore ? bringBack(context, id) : remove(context, id));
      if (!moved.ok) return moved;
    }
    if (!restore) tellNext(context.terminal.out, `bosun rm --restore ${ids.join(" ")}`, "bosun prune --purge");
    return ok(EXIT_DONE);
  };
}

async function remove({ terminal, ...context }: CommandContext, named: string): Promise<Exit> {
  return withSession(openHomeOf, { terminal, ...context }, named, SHOW, async ({ home, store, row, session_id }) => {
    const removed = removeSession(home, store, row);
    if (removed.ok) terminal.out.line(`${session_id} is in the trash.`);
    return removed.ok ? ok(EXIT_DONE) : removed;
  });
}

/** The session in the trash of this home, else of the others, with this id, or the only one that begins so. */
function bringBack(context: CommandContext, named: string): Exit {
  const homes = allHomes(context);
  if (!homes.ok) return homes;
  const all = homes.value.flatMap((home) => trashOf(home).map((trashed) => ({ home, trashed })));
  const begun = all.filter(({ trashed }) => named !== "" && trashed.session_id.startsWith(named));
  const found =
    begun.find(({ trashed }) => trashed.session_id === named) ?? (begun.length === 1 ? begun[0] : undefined);
  if (found === undefined) {
    const what = `${begun.length === 0 ? "No session" : "More than one session"} in the trash begins with ${JSON.stringify(named)}.`;
    return fails("not_found", what, { hint: "`bosun prune --purge --dry-run` lists what is in the trash." });
  }
  const restored = restoreSession(found.home, found.trashed);
  if (restored.ok) context.terminal.out.line(`${found.trashed.session_id} is back.`);
  return restored.ok ? ok(EXIT_DONE) : restored;
}
