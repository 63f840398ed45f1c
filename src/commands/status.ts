import { type Command, Option } from "commander";
import { ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { diskUse } from "../store/trash.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import { safeJson, safeLine, safeText } from "../ui/display.ts";
import { wholeScreen } from "../ui/parts.ts";
import { bytesWords, localize, tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { homeOf, isUnused, type OpenHome, otherHomesLines, withHome } from "./context/home.ts";
import { watchStatus } from "./driver/watch-status.ts";
import { allHomes, lookIntoAll, readHomeOf } from "./lookup/homes.ts";
import { resolveSession, SHOW } from "./lookup/resolve.ts";
import { tellUnknownLogs } from "./lookup/log-source.ts";
import { holderOf, type HomeSession, listParts, sessionList, sessionParts } from "./presenters/session.ts";
import { listed, seenSession, statusObject } from "./presenters/status-object.ts";

interface StatusOptions {
  readonly json?: boolean;
  readonly all?: boolean;
  readonly here?: boolean;
  readonly watch?: boolean;
}

/** How often the sessions of other homes are read again, in ms. */
const ELSEWHERE_MS = 1_000;

/** `bosun status`: shows the state of one session, or the list of all. */
export function register(command: Command): Action<StatusOptions> {
  command
    .argument("[session]", "its id or the beginning of it (default: the running one, else the list of all)")
    .option("-a, --all", "list all sessions, even if one is running; with the disk space they take")
    .option("--here", "list only those of this home")
    .addOption(
      new Option(
        "-w, --watch",
        "keep it on the screen and up to date until the session is closed, or Ctrl-C",
      ).conflicts("json"),
    )
    .option("--json", "one JSON value on stdout");
  return async (context, [named], options) => {
    const { out, isDumb } = context.terminal;
    if (options.watch === true && (isDumb || !out.stream.isTTY))
      return fails("usage", "--watch needs a terminal, to show the status in its place.", {
        hint: "To follow a session line by line: bosun log --follow, or for programs bosun attach --json.",
      });
    const opened = await readHomeOf(context, named);
    const home = homeOf(context);
    if (!opened.ok && named === undefined && home.ok && isUnused(context, home.value, opened.error))
      return showList(context, options, () => 0);
    return withHome(opened, async ({ home, store }) => {
      const row = rowToShow(store, named, options);
      if (!row.ok) return row;
      if (row.value === undefined) return showList(context, options, () => store.version());
      tellUnknownLogs(context, home, store);
      if (options.watch === true) return watch(context, { home, store }, row.value);
      const seen = await seenSession(context, { home, store }, row.value);
      if (!seen.ok) return seen;
      if (options.json === true) out.line(safeJson(statusObject(store, home, seen.value)));
      else for (const line of wholeScreen(sessionParts(out, store, seen.value))) out.line(line);
      return ok(EXIT_DONE);
    });
  };
}

/** Shows the status now, and again whenever it changes. */
function watch(context: CommandContext, { home, store }: OpenHome<StoreReader>, row: SessionRow): Promise<Exit> {
  const { out } = context.terminal;
  const { session_id } = row;
  return watchStatus(
    context,
    () => `${store.version()} ${store.holder(session_id)?.pid}`,
    async () => {
      const seen = await seenSession(context, { home, store }, row);
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

/** Lists the sessions of all homes of this user, newest first. `version` changes with those of this home. */
async function showList(context: CommandContext, options: StatusOptions, version: () => number): Promise<Exit> {
  const { out, err: messages } = context.terminal;
  const { json = false, watch: isWatched = false, all = false, here = false } = options;
  const homes = allHomes(context, here);
  if (!homes.ok) return homes;
  const read = async () => {
    const looked = await lookIntoAll(context, homes.value, async (store, home) => {
      if (home === homes.value[0] && !isWatched) tellUnknownLogs(context, home, store);
      return sessionList(store, json).map((one) => ({ ...one, home }));
    });
    if (!looked.ok) return looked;
    const newestFirst = (a: HomeSession, b: HomeSession) => (a.row.created_at < b.row.created_at ? 1 : -1);
    const sessions = looked.value.flatMap((one) => (one.ok ? one.value : [])).toSorted(newestFirst);
    return ok({ sessions, unread: looked.value.flatMap((one) => (one.ok ? [] : [one.error.message])) });
  };
  const found = await read();
  if (!found.ok) return found;
  const { sessions, unread } = found.value;
  if (isWatched && sessions.length > 0) {
    const every = () => `${version()} ${Math.floor(performance.now() / ELSEWHERE_MS)}`;
    return watchStatus(context, every, async () => {
      const now = await read();
      return now.ok ? ok({ parts: () => listParts(out, now.value.sessions, Date.now()), isOver: false }) : now;
    });
  }
  const troubled = sessions.filter(({ trouble }) => trouble !== undefined);
  for (const { row, trouble } of troubled) messages.line(`${row.session_id}: ${safeLine(trouble?.message ?? "")}`);
  for (const message of unread) messages.line(safeText(message));
  const isEmptyHere = !sessions.some(({ home }) => home === homes.value[0]);
  if (json) {
    const objects = sessions.map(({ row, owner, trouble, home }) => {
      return { ...listed(row, owner), home, trouble: trouble?.message };
    });
    out.line(safeJson(objects));
  } else {
    if (isEmptyHere) out.line("No session has run here yet.");
    if (isEmptyHere) tellNext(out, "bosun run --plan FILE", "bosun demo");
    if (sessions.length > 0) for (const line of wholeScreen(listParts(out, sessions, Date.now()))) out.line(line);
    if (isEmptyHere) for (const other of otherHomesLines(context, homes.value[0] ?? "")) out.line(localize(out, other));
    const use = all ? homes.value.reduce((sum, home) => sum + diskUse(home), 0) : 0;
    if (use > 0) out.line(out.style("dim", `All this takes ${bytesWords(use)} on the disk.`));
  }
  return ok(troubled.length > 0 ? EXIT_ENVIRONMENT : EXIT_DONE);
}
