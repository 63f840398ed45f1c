import type { Command } from "commander";
import { DURATION_FORM, formatDuration } from "../lib/durations.ts";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { systemClock } from "../runtime/time/clock.ts";
import { diskUse, purgeSession, removeSession, sessionUse } from "../runtime/trash.ts";
import type { Store } from "../store/store.ts";
import { compact, trashOf } from "../store/trash.ts";
import { safeLine } from "../ui/display.ts";
import { tableLines } from "../ui/table.ts";
import { bytesWords, counted, tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { openExistingHome, type OpenHome, withHome } from "./context/home.ts";
import { confirmHere } from "./interaction/confirm.ts";
import { runningSessions } from "./lookup/resolve.ts";
import { durationOf } from "./options/limits.ts";

type PruneOptions = Readonly<Partial<Record<"dryRun" | "purge" | "yes", boolean>> & { olderThan?: string }>;

/** The age from which closed sessions are moved to the trash, unless one is given. */
const OLD = "30d";

/** `bosun prune`: moves old closed sessions of this home to its trash; with `--purge`, deletes what is in the trash. */
export function register(command: Command): Action<PruneOptions> {
  command
    .option(
      "--older-than <duration>",
      `closed, or in the trash, for so long: ${DURATION_FORM} (default: ${OLD}; to purge 0)`,
    )
    .option("--dry-run", "only list them, with the disk space they take")
    .option("--purge", "delete what is in the trash for good")
    .option("-y, --yes", "delete without asking");
  return async (context, _words, options) =>
    withHome(openExistingHome(context), async (opened) => prune(context, opened, options));
}

async function prune(context: CommandContext, opened: OpenHome<Store>, options: PruneOptions): Promise<Exit> {
  const { home, store } = opened;
  const { out, err, hasPerson } = context.terminal;
  const { dryRun = false, purge = false, yes = false, olderThan = purge ? "0" : OLD } = options;
  const least = durationOf("--older-than", olderThan, 0);
  if (!least.ok) return least;
  const now = milliseconds(systemClock.now());
  const closed = store.sessions({ parent: null }).filter(({ state }) => state === "closed");
  const all = purge
    ? trashOf(home).map((one) => ({ ...one, move: () => purgeSession(home, store, one) }))
    : closed.map((row) => {
        const { session_id, updated_at } = row;
        return { session_id, at: milliseconds(updated_at), move: () => removeSession(home, store, row) };
      });
  const old = all.filter(({ at }) => now - at >= least.value);
  if (purge && !dryRun && !yes && old.length > 0) {
    const hint = "--yes deletes without asking; --dry-run only lists.";
    if (!hasPerson) return fails("usage", "Nobody is here to confirm what cannot be undone.", { hint });
    const declined = await confirmHere(context, `Delete ${counted(old.length, "session")} for good?`, "no");
    if (declined !== undefined) return ok(declined);
  }
  const rows: string[][] = [];
  for (const { session_id, at, move } of old) {
    const size = sessionUse(home, session_id);
    const moved = dryRun ? ok(undefined) : move();
    if (moved.ok) rows.push([session_id, formatDuration(now - at), bytesWords(size)]);
    else if (moved.error.code !== "busy") return moved;
    else err.line(safeLine(moved.error.message));
  }
  // While another process works here, the database only uses the space again.
  const freed = purge && rows.length > 0 && runningSessions(store).length === 0 ? compact(home) : ok(undefined);
  if (!freed.ok) return freed;
  const columns = [{ heading: "SESSION" }, { heading: "AGO" }, { heading: "SIZE" }];
  if (rows.length > 0) for (const line of tableLines(columns, rows, out.width)) out.line(line);
  const did = purge ? "deleted for good" : "moved to the trash";
  out.line(`${counted(rows.length, "session")} ${dryRun ? `would be ${did}` : did}.`);
  const trash = trashOf(home).reduce((sum, one) => sum + sessionUse(home, one.session_id), 0);
  out.line(`The home takes ${bytesWords(diskUse(home))}, ${bytesWords(trash)} of it in the trash.`);
  if (dryRun && rows.length > 0) tellNext(out, `bosun prune --older-than ${olderThan}${purge ? " --purge" : ""}`);
  else if (!purge && rows.length > 0) tellNext(out, `bosun rm --restore ${rows[0]?.[0]}`, "bosun prune --purge");
  return ok(EXIT_DONE);
}
