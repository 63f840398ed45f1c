import { type Command, Option } from "commander";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import { safeJson, safeLine } from "../ui/display.ts";
import { wholeScreen } from "../ui/parts.ts";
import { localize, tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { homeOf, isUnused, type OpenHome, otherHomesLines, withHome } from "./context/home.ts";
import { watchStatus } from "./driver/watch-status.ts";
import { readHomeOf } from "./lookup/homes.ts";
import { resolveSession, SHOW } from "./lookup/resolve.ts";
import { tellUnknownLogs } from "./lookup/log-source.ts";
import { holderOf, listParts, sessionList, sessionParts } from "./presenters/session.ts";
import { listed, seenSession, statusObject } from "./presenters/status-object.ts";

interface StatusOptions {
  readonly json?: boolean;
  readonly all?: boolean;
  readonly watch?: boolean;
}

/** `bosun status`: shows the state of one session, or the list of all. */
export function register(command: Command): Action<StatusOptions> {
  command
    .argument("[session]", "its id or the beginning of it (default: the running one, else the list of all)")
    .option("-a, --all", "list all sessions, even if one is running")
    .addOption(
      new Option(
        "-w, --watch",
        "keep it on the screen and up to date until the session is closed, or Ctrl-C",
      ).conflicts("json"),
    )
    .option("--json", "one JSON value on stdout");
  return status;
}

async function status(context: CommandContext, [named]: readonly string[], options: StatusOptions): Promise<Exit> {
  const { out, isDumb } = context.terminal;
  if (options.watch === true && (isDumb || !out.stream.isTTY))
    return fails("usage", "--watch needs a terminal, to show the status in its place.", {
      hint: "To follow a session line by line: bosun log --follow, or for programs bosun attach --json.",
    });
  const opened = await readHomeOf(context, named);
  const missing = named === undefined && !opened.ok ? homeOf(context) : undefined;
  if (!opened.ok && missing?.ok === true && isUnused(context, missing.value, opened.error)) {
    return ok(showEmpty(context, missing.value, options));
  }
  return withHome(opened, async ({ home, store }) => {
    tellUnknownLogs(context, home, store);
    const row = rowToShow(store, named, options);
    if (!row.ok) return row;
    if (options.watch === true) return watch(context, { home, store }, row.value, options);
    if (row.value === undefined) return showList(store, home, context, options);
    const seen = await seenSession(store, home, row.value);
    if (!seen.ok) return seen;
    if (options.json === true) out.line(safeJson(statusObject(store, home, seen.value)));
    else for (const line of wholeScreen(sessionParts(out, store, seen.value))) out.line(line);
    return ok(EXIT_DONE);
  });
}

/** Shows the status now, and again whenever it changes. */
function watch(
  context: CommandContext,
  { home, store }: OpenHome<StoreReader>,
  row: SessionRow | undefined,
  options: StatusOptions,
): Promise<Exit> | Exit {
  const { out } = context.terminal;
  if (row === undefined) {
    if (sessionList(store, false).length === 0) return ok(showEmpty(context, home, options));
    const parts = () => listParts(out, sessionList(store, false), Date.now());
    return watchStatus(
      context,
      () => store.version(),
      async () => ok({ parts, isOver: false }),
    );
  }
  const { session_id } = row;
  return watchStatus(
    context,
    () => `${store.version()} ${store.holder(session_id)?.pid}`,
    async () => {
      const seen = await seenSession(store, home, row);
      if (!seen.ok) return seen;
      const { value } = seen;
      const parts = () => sessionParts(out, store, value);
      return ok({ parts, isOver: value.row.state === "closed" && value.owner === undefined });
    },
  );
}

function rowToShow(
  store: StoreReader,
  named: string | undefined,
  { all }: StatusOptions,
): Fallible<SessionRow | undefined> {
  if (named !== undefined && all === true) {
    const hint = "Leave out --all to see the session, or its name to see the list.";
    return fails("usage", `--all cannot be combined with the session ${JSON.stringify(named)}.`, { hint });
  }
  if (named !== undefined) return resolveSession(store, named, SHOW);
  if (all === true) return ok(undefined);
  const live = store
    .sessions({ parent: null })
    .filter((row) => row.state !== "closed" && holderOf(store, row).owner !== undefined);
  return ok(live.length === 1 ? live[0] : undefined);
}

/** Shows what to type first, if there are no sessions. */
function showEmpty(context: CommandContext, home: string, { json }: StatusOptions): number {
  const { out } = context.terminal;
  if (json === true) {
    out.line("[]");
    return EXIT_DONE;
  }
  out.line("No session has run here yet.");
  tellNext(out, "bosun run --plan FILE", "bosun demo");
  for (const other of otherHomesLines(context, home)) out.line(localize(out, other));
  return EXIT_DONE;
}

function showList(store: StoreReader, home: string, context: CommandContext, options: StatusOptions): Exit {
  const { out, err: messages } = context.terminal;
  const sessions = sessionList(store, options.json === true);
  let exit_code = EXIT_DONE;
  for (const { row, trouble } of sessions) {
    if (trouble === undefined) continue;
    exit_code = EXIT_ENVIRONMENT;
    messages.line(`${row.session_id}: ${safeLine(trouble.message)}`);
  }
  if (sessions.length === 0) return ok(showEmpty(context, home, options));
  if (options.json === true) {
    const objects = sessions.map(({ row, owner, trouble }) => ({ ...listed(row, owner), trouble: trouble?.message }));
    out.line(safeJson(objects));
  } else for (const line of wholeScreen(listParts(out, sessions, Date.now()))) out.line(line);
  return ok(exit_code);
}
