import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { type Fallible, fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { removeSession, restoreSession, type Trashed, trashOf } from "../runtime/trash.ts";
import { safeLine } from "../ui/display.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { homeOf, openHomeAt, otherHomes, withHome } from "./context/home.ts";
import { openHomeOf, withSession } from "./lookup/homes.ts";
import { SHOW } from "./lookup/resolve.ts";

interface RmOptions {
  readonly restore?: boolean;
}

/** `bosun rm`: moves closed sessions to the trash of their home, and back. */
export function register(command: Command): Action<RmOptions> {
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

async function remove(context: CommandContext, named: string): Promise<Exit> {
  return withSession(openHomeOf, context, named, SHOW, async ({ home, store, session_id }) => {
    const removed = removeSession(home, store, session_id);
    if (!removed.ok) return removed;
    context.terminal.out.line(`${session_id} is in the trash.`);
    return ok(EXIT_DONE);
  });
}

async function bringBack(context: CommandContext, named: string): Promise<Exit> {
  const found = inTrash(context, named);
  if (!found.ok) return found;
  const [home, trashed] = found.value;
  return withHome(openHomeAt(context, home), async ({ store }) => {
    const restored = restoreSession(home, store, trashed);
    if (!restored.ok) return restored;
    context.terminal.out.line(`${trashed.session_id} is back in ${safeLine(home)}.`);
    return ok(EXIT_DONE);
  });
}

/** The session in the trash of this home, else of the others, with this id or the only one that begins so. */
function inTrash(context: CommandContext, named: string): Fallible<[home: string, trashed: Trashed]> {
  const here = homeOf(context);
  if (!here.ok) return here;
  const all = [here.value, ...otherHomes(context, here.value)].flatMap((home) =>
    trashOf(home).map((trashed): [string, Trashed] => [home, trashed]),
  );
  const begun = all.filter(([, { session_id }]) => named !== "" && session_id.startsWith(named));
  const found = begun.find(([, { session_id }]) => session_id === named) ?? begun[0];
  if (found && (begun.length === 1 || found[1].session_id === named)) return ok(found);
  const hint = "`bosun prune --dry-run` lists what is in the trash.";
  if (!found) return fails("not_found", `There is no session ${JSON.stringify(named)} in the trash.`, { hint });
  return fails("usage", `More than one session in the trash begins with ${JSON.stringify(named)}.`, { hint });
}
