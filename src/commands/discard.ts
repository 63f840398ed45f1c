import { existsSync } from "node:fs";
import type { Command } from "commander";
import { cutLanding, moveSession } from "../copies/landing.ts";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { sessionPaths } from "../runtime/paths.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { alone } from "./driver/copies.ts";
import { confirmHere } from "./interaction/confirm.ts";
import { withCopies } from "./lookup/copies.ts";
import { openHomeOf, withSession } from "./lookup/homes.ts";
import { ANY_SESSION, WATCH } from "./lookup/resolve.ts";

interface DiscardOptions {
  readonly yes?: boolean;
  readonly restore?: boolean;
}

/** `bosun discard`: puts the copies of a closed session into the trash, or brings them back. The person's repository is not opened. */
export function register(command: Command): Action<DiscardOptions> {
  command
    .argument(...ANY_SESSION)
    .option("-y, --yes", "without asking")
    .option("--restore", "bring back what was discarded");
  return (context, [named], { yes = false, restore = false }) =>
    restore ? bringBack(context, named) : discard(context, named, yes);
}

function discard(context: CommandContext, named: string | undefined, yes: boolean): Promise<Exit> {
  const { out, hasPerson } = context.terminal;
  return withCopies(openHomeOf, context, named, WATCH, (found) =>
    alone(context, found, async ({ home, row, session_id, copies: { place } }) => {
      if (row.state !== "closed")
        return fails("usage", `${session_id} is not closed: it is ${row.state}.`, {
          hint: `End it first: bosun cancel ${session_id}`,
        });
      const cut = cutLanding(place);
      if (cut !== undefined)
        return fails("usage", `A merge of ${session_id} into ${cut.branch} was cut off.`, {
          hint: `To end it first: bosun ${cut.undoes === undefined ? "merge" : "undo"} ${session_id}`,
        });
      if (!yes && !hasPerson)
        return fails("usage", "Nobody is here to confirm.", { hint: "--yes discards without asking." });
      const question = `Discard what ${session_id} made? \`bosun prune --purge\` deletes it for good.`;
      const declined = yes ? undefined : await confirmHere(context, question, "no");
      if (declined !== undefined) return ok(declined);
      const moved = await moveSession(place.folder, sessionPaths(home, session_id).discarded);
      if (!moved.ok) return moved;
      out.line(`What ${session_id} made is discarded. Your repository was not touched.`);
      tellNext(out, `bosun discard --restore ${session_id}`, "bosun prune --purge");
      return ok(EXIT_DONE);
    }),
  );
}

function bringBack(context: CommandContext, named: string | undefined): Promise<Exit> {
  return withSession(openHomeOf, context, named, WATCH, async ({ home, session_id }) => {
    const { copies, discarded } = sessionPaths(home, session_id);
    if (!existsSync(discarded) || existsSync(copies))
      return fails("usage", `${session_id} has nothing that was discarded.`, { hint: `bosun status ${session_id}` });
    const moved = await moveSession(discarded, copies);
    if (!moved.ok) return moved;
    context.terminal.out.line(`What ${session_id} made is back.`);
    tellNext(context.terminal.out, `bosun diff ${session_id}`);
    return ok(EXIT_DONE);
  });
}
