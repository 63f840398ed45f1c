import type { Command } from "commander";
import { DURATION_FORM, formatDuration } from "../lib/durations.ts";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { systemClock } from "../runtime/time/clock.ts";
import { compactHome, diskUse, purgeSession, removeSession, sessionUse, trashOf, trashUse } from "../runtime/trash.ts";
import { getSession } from "../store/sqlite-store.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { clipped, safeJson, safeLine } from "../ui/display.ts";
import { PROSE_WIDTH, tableLines } from "../ui/table.ts";
import type { Output } from "../ui/terminal.ts";
import { bytesWords, counted, tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { openExistingHome, type OpenHome, withHome } from "./context/home.ts";
import { confirmHere } from "./interaction/confirm.ts";
import { durationOf } from "./options/limits.ts";

interface PruneOptions {
  readonly olderThan?: string;
  readonly dryRun?: boolean;
  readonly purge?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** The age from which closed sessions are moved to the trash, unless one is given. */
const OLD = "30d";

/** A session that is meant: a closed one, or with `--purge` one of the trash. */
interface Meant extends Pick<SessionRow, "session_id" | "requirement"> {
  readonly age_ms: number;
  readonly size_bytes: number;
}

/** `bosun prune`: moves old closed sessions of this home to its trash; with `--purge`, deletes what is in the trash. */
export function register(command: Command): Action<PruneOptions> {
  command
    .option(
      "--older-than <duration>",
      `only what has been closed, or in the trash, for so long: ${DURATION_FORM} (default: ${OLD}; with --purge 0)`,
    )
    .option("--dry-run", "only list it, with the disk space it takes")
    .option("--purge", "delete what is in the trash for good")
    .option("-y, --yes", "delete without asking")
    .option("--json", "one JSON value on stdout");
  return async (context, _words, options) =>
    withHome(openExistingHome(context), async (opened) => prune(context, opened, options));
}

/** The closed sessions of a home, or those of its trash, that are so old. */
function meantOf({ home, store }: OpenHome<Store>, isPurge: boolean, least_ms: number): Meant[] {
  const now = milliseconds(systemClock.now());
  const about = (row: SessionRow, since: number, size: () => number) => {
    const { session_id, requirement } = row;
    const age_ms = now - since;
    return age_ms < least_ms ? [] : [{ session_id, requirement, age_ms, size_bytes: size() }];
  };
  if (!isPurge)
    return store
      .sessions({ parent: null })
      .filter(({ state }) => state === "closed")
      .flatMap((row) => about(row, milliseconds(row.updated_at), () => sessionUse(home, row)));
  return trashOf(home).flatMap(({ session_id, home: inside, at }) => {
    const row = getSession(inside, session_id);
    return row.ok ? about(row.value, at, () => diskUse(inside)) : [];
  });
}

async function prune(context: CommandContext, opened: OpenHome<Store>, options: PruneOptions): Promise<Exit> {
  const { home, store } = opened;
  const { out, err, hasPerson } = context.terminal;
  const { dryRun: isDry = false, purge: isPurge = false, yes = false } = options;
  const least = durationOf("--older-than", options.olderThan ?? (isPurge ? "0" : OLD), 0);
  if (!least.ok) return least;
  const meant = meantOf(opened, isPurge, least.value);
  if (isPurge && !isDry && !yes && meant.length > 0) {
    const hint = "--yes deletes without asking; --dry-run only lists.";
    if (!hasPerson) return fails("usage", "There is nobody here to confirm what cannot be undone.", { hint });
    const declined = await confirmHere(context, `Delete ${counted(meant.length, "session")} for good?`, "no");
    if (declined !== undefined) return ok(declined);
  }
  const done: Meant[] = [];
  for (const one of isDry ? [] : meant) {
    const moved = isPurge ? purgeSession(home, store, one.session_id) : removeSession(home, store, one.session_id);
    if (moved.ok) done.push(one);
    else if (moved.error.code !== "busy") return moved;
    else err.line(safeLine(moved.error.message));
  }
  const compacted = isPurge && done.length > 0 ? compactHome(home, store) : ok(undefined);
  if (!compacted.ok) return compacted;
  show(out, isDry ? meant : done, trashUse(home), options);
  return ok(EXIT_DONE);
}

function show(
  out: Output,
  sessions: readonly Meant[],
  use: ReturnType<typeof trashUse>,
  { dryRun: isDry = false, purge: isPurge = false, json = false }: PruneOptions,
): void {
  if (json) return out.line(safeJson({ sessions, dry_run: isDry, ...use }));
  const rows = sessions.map(({ session_id, age_ms, size_bytes, requirement }) => [
    session_id,
    formatDuration(age_ms),
    bytesWords(size_bytes),
    clipped(requirement ?? "", PROSE_WIDTH),
  ]);
  const columns = [{ heading: "SESSION", width: 40 }, { heading: "AGO" }, { heading: "SIZE" }, { heading: "WHAT" }];
  if (rows.length > 0) for (const line of tableLines(columns, rows, out.width)) out.line(line);
  const did = isPurge ? "deleted for good" : "moved to the trash";
  out.line(`${counted(sessions.length, "session")} ${isDry ? `would be ${did}` : did}.`);
  out.line(`The home takes ${bytesWords(use.home_bytes)}, ${bytesWords(use.trash_bytes)} of it in the trash.`);
  const [first] = sessions;
  if (first === undefined) return;
  if (isDry) tellNext(out, `bosun prune${isPurge ? " --purge" : ""}`);
  else if (!isPurge) tellNext(out, `bosun rm --restore ${first.session_id}`, "bosun prune --purge");
}
