import { type Command, Option } from "commander";
import { copyOf } from "../copies/copy.ts";
import { BASE, nameOf, own, type Place, repositoryOf, SESSION, tried } from "../copies/place.ts";
import { branchOf, difference } from "../copies/queue.ts";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeText } from "../ui/display.ts";
import type { Style } from "../ui/terminal.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addPagerOption, paged, type PagerOption } from "./context/paged.ts";
import { withCopies } from "./lookup/copies.ts";
import { readHomeOf } from "./lookup/homes.ts";
import { ANY_SESSION, BY_SESSION, SHOW } from "./lookup/resolve.ts";

interface DiffOptions extends PagerOption {
  readonly session?: string;
  readonly stat?: boolean;
  readonly tool?: string;
}

/** `bosun diff`: shows what a session has merged, or what one ticket changes. */
export function register(command: Command): Action<DiffOptions> {
  command
    .argument(...ANY_SESSION)
    .argument("[ticket]", "only this ticket, merged or not")
    .option(...BY_SESSION)
    .option("--stat", "only the files, and how many lines of each")
    .addOption(new Option("--tool <name>", "open it in this tool of `git difftool`").conflicts("stat"));
  addPagerOption(command);
  return async (context, words, options) => {
    const typed = { words, session: options.session, command: "diff" };
    return withCopies(readHomeOf, context, typed, SHOW, async ({ copies: { place }, ticket_id }) => {
      const range = ticket_id === undefined ? ok({ from: BASE, to: SESSION }) : await rangeOf(place, ticket_id);
      if (!range.ok) return range;
      if (options.tool !== undefined) return inTool(place, range.value, options.tool);
      const shown = await difference(place, { ...range.value, stat: options.stat === true });
      if (!shown.ok) return shown;
      if (shown.value === "") context.terminal.err.line("Nothing has changed.");
      else
        return paged(context, options, true, async (here) =>
          show(here, context.terminal.out.stream.isTTY, shown.value),
        );
      return ok(EXIT_DONE);
    });
  };
}

/** The commits between which a ticket's work lies: its merge, else what was taken over from it last. */
function rangeOf(place: Place, ticket_id: string): Promise<Fallible<{ readonly from: string; readonly to: string }>> {
  return tried(`What ${ticket_id} changes cannot be read`, place.folder, async () => {
    const merged = (await branchOf(place)).merged.findLast((one) => one.ticket_id === ticket_id);
    if (merged !== undefined) return ok({ from: `${merged.commit}^1`, to: merged.commit });
    const format = ["--sort=-version:refname", "--format=%(objectname)", "--count=1"] as const;
    const work = await own(place, ["for-each-ref", ...format, `refs/bosun/tickets/${nameOf(ticket_id)}/`]);
    if (work !== "") return ok({ from: await own(place, ["merge-base", SESSION, work]), to: work });
    const { tree } = copyOf(place, ticket_id) ?? {};
    return fails("not_found", `${ticket_id} has delivered nothing yet.`, {
      hint: tree === undefined ? "`bosun status` says how it stands." : `It works in ${tree}.`,
    });
  });
}

/** Opens two folders in a person's tool, which has the terminal meanwhile. Their own configuration says which tools there are. */
function inTool(
  place: Place,
  { from, to }: { readonly from: string; readonly to: string },
  tool: string,
): Promise<Exit> {
  return tried(`The tool ${tool} cannot be used`, place.folder, async () => {
    const repository = repositoryOf(place);
    const command = ["difftool", `--tool=${tool}`, from, to] as const;
    await place.git(repository, command, { repository, configuration: "trusted", hasTerminal: true });
    return ok(EXIT_DONE);
  });
}

const COLOURS: Readonly<Record<string, Style>> = { "+": "green", "-": "red", "@": "cyan" };

/** A pipe gets the text as git made it, so that it can be applied. */
async function show({ terminal: { out } }: CommandContext, isTerminal: boolean, text: string): Promise<Exit> {
  for (const line of text.split("\n")) {
    const style = /^(?:diff|index|\+\+\+|---) /.test(line) ? "bold" : COLOURS[line.charAt(0)];
    const safe = isTerminal ? safeText(line) : line;
    out.line(style === undefined ? safe : out.style(style, safe));
  }
  return ok(EXIT_DONE);
}
