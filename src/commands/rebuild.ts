import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { didYouMean } from "../lib/nearest.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_VERIFICATION } from "../runtime/exit.ts";
import { rebuild, type Rebuilt } from "../runtime/rebuild.ts";
import { systemClock } from "../runtime/time/clock.ts";
import { safeLine } from "../ui/display.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext } from "./context/command.ts";
import { homeOf } from "./context/home.ts";
import { loadModes } from "../modes/index.ts";
import { logFolders } from "./lookup/log-source.ts";

/** `bosun rebuild`: makes the database anew from the log folders. */
export function register(command: Command): Action<object> {
  command.argument("[session]", "its id, the name of its log folder (default: all)");
  return async (context, [named]) => {
    const home = homeOf(context);
    if (!home.ok) return home;
    const all = [...logFolders(home.value).keys()].sort();
    if (all.length === 0 || (named !== undefined && !all.includes(named))) {
      const what = `${home.value}/logs has no session${named === undefined ? "" : ` ${JSON.stringify(named)}`}.`;
      const hint = "A session is rebuilt from its log folder. Put that back, or name another home with --home.";
      return fails("not_found", what + (named === undefined ? "" : didYouMean(named, all)), { hint });
    }
    const wanted = named === undefined ? all : [named];
    const label = systemClock.now().replaceAll(/\W/g, "");
    const rebuilt = await rebuild(home.value, wanted, all, await loadModes(), label);
    if (!rebuilt.ok) return rebuilt;
    show(context, rebuilt.value);
    return ok(rebuilt.value.sessions.some(({ became }) => typeof became !== "string") ? EXIT_VERIFICATION : EXIT_DONE);
  };
}

const BECAME = {
  rebuilt: "rebuilt from its log",
  kept: "the database has all of its log, unchanged",
} as const;

function show({ terminal: { out } }: CommandContext, { sessions, old }: Rebuilt): void {
  for (const { session_id, became } of sessions)
    out.line(
      safeLine(`${session_id}  ${typeof became === "string" ? BECAME[became] : `left as it is: ${became.left}`}`),
    );
  if (old !== undefined) out.line(`The database as it was: ${safeLine(old)}`);
  const [first] = sessions.filter(({ became }) => became === "rebuilt");
  if (first !== undefined)
    out.line(
      "Not in a log: messages that no scheduler had taken, the processes of a dead one, which notifications were sent.",
    );
  tellNext(out, first === undefined ? "bosun status --all" : `bosun resume ${first.session_id}`);
}
