import type { Command } from "commander";
import { DURATION_FORM, formatDuration } from "../lib/durations.ts";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { milliseconds } from "../protocol/timestamp.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { systemClock } from "../runtime/time/clock.ts";
import type { Store } from "../store/store.ts";
import * as trash from "../store/trash.ts";
import { safeLine } from "../ui/display.ts";
import { tableLines } from "../ui/table.ts";
import { bytesWords, counted, tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { openExistingHome, type OpenHome, withHome } from "./context/home.ts";
import { confirmHere } from "./interaction/confirm.ts";
import { allHomes, openHomeOf, withSession } from "./lookup/homes.ts";
import { runningSessions, SHOW } from "./lookup/resolve.ts";
import { durationOf } from "./options/limits.ts";

/** `bosun rm`: moves closed sessions to the trash of their home, and back. */
export function register(command: Command): Action<{ readonly restore?: boolean }> {
  command
    .argument("<sessions...>", "their ids or the beginnings of them; closed ones")
    .option("--restore", "bring them back from the trash");
  return async (context, ids, { restore = false }) => {
    for (const id of ids) {
      const moved = restore ? bringBack(context, id) : await remove(context, id);
      if (!moved.ok) return moved;
      context.terminal.out.line(moved.value);
    }
    if (!restore) tellNext(context.terminal.out, `bosun rm --restore ${ids.join(" ")}`, "bosun prune --purge");
    return ok(EXIT_DONE);
  };
}

function remove(context: CommandContext, named: string) {
  return withSession(openHomeOf, context, named, SHOW, async ({ home, store, row }) => {
    const removed = trash.removeSession(home, store, row);
    return removed.ok ? ok(`${row.session_id} is in the trash.`) : removed;
  });
}

/** The session in the trash of this home, else of the others, with this id, or the only one that begins so. */
function bringBack(context: CommandContext, named: string) {
  const homes = allHomes(context);
  if (!homes.ok) return homes;
  const all = homes.value.flatMap((home) => trash.trashOf(home).map((one) => ({ home, one })));
  const begun = all.filter(({ one }) => named !== "" && one.session_id.startsWith(named));
  const found = begun.find(({ one }) => one.session_id === named) ?? (begun.length === 1 ? begun[0] : undefined);
  const how = `${begun.length === 0 ? "No session" : "More than one session"} in the trash begins with`;
  const hint = "`bosun prune --purge --dry-run` lists what is in the trash.";
  if (found === undefined) return fails("not_found", `${how} ${JSON.stringify(named)}.`, { hint });
  const restored = trash.restoreSession(found.home, found.one);
  return restored.ok ? ok(`${found.one.session_id} is back.`) : restored;
}

type PruneOptions = Readonly<Partial<Record<"dryRun" | "purge" | "yes", boolean>> & { olderThan?: string }>;

/** The age from which closed sessions are moved to the trash, unless one is given. */
const OLD = "30d";

/** `bosun prune`: moves old closed sessions of this home to its trash; with `--purge`, deletes what is in the trash. */
export function registerPrune(command: Command): Action<PruneOptions> {
  const age = `closed, or in the trash, for so long: ${DURATION_FORM} (default: ${OLD}; to purge 0)`;
  command
    .option("--older-than <duration>", age)
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
    ? trash.trashOf(home).map((one) => ({ ...one, move: () => trash.purgeSession(home, store, one) }))
    : closed.map((row) => {
        const { session_id, updated_at } = row;
        return { session_id, at: milliseconds(updated_at), move: () => trash.removeSession(home, store, row) };
      });
  const isOld = ({ at }: { readonly at: number }) => now - at >= least.value;
  const old = all.filter(isOld);
  const discarded = purge ? trash.discardedIn(home).filter(isOld) : [];
  const more = discarded.length > 0 ? ` and what was discarded of ${counted(discarded.length, "session")}` : "";
  if (purge && !dryRun && !yes && old.length + discarded.length > 0) {
    const hint = "--yes deletes without asking; --dry-run only lists.";
    if (!hasPerson) return fails("usage", "Nobody is here to confirm what cannot be undone.", { hint });
    const declined = await confirmHere(context, `Delete ${counted(old.length, "session")}${more} for good?`, "no");
    if (declined !== undefined) return ok(declined);
  }
  const use = (session_id: string) =>
    trash.foldersOf(home, session_id).reduce((sum, one) => sum + trash.diskUse(one), 0);
  const rows: string[][] = [];
  for (const { session_id, at, move } of old) {
    const row = [session_id, formatDuration(now - at), bytesWords(use(session_id))];
    const moved = dryRun ? ok(undefined) : move();
    if (moved.ok) rows.push(row);
    else if (moved.error.code !== "busy") return moved;
    else err.line(safeLine(moved.error.message));
  }
  for (const one of dryRun ? [] : discarded) {
    const deleted = one.purge();
    if (!deleted.ok) return deleted;
  }
  // While another process works here, the database only uses the space again.
  const freed = purge && rows.length > 0 && runningSessions(store).length === 0 ? trash.compact(home) : ok(undefined);
  if (!freed.ok) return freed;
  const columns = [{ heading: "SESSION" }, { heading: "AGO" }, { heading: "SIZE" }];
  if (rows.length > 0) for (const line of tableLines(columns, rows, out.width)) out.line(line);
  const did = purge ? "deleted for good" : "moved to the trash";
  out.line(`${counted(rows.length, "session")}${more} ${dryRun ? `would be ${did}` : did}.`);
  const inTrash = trash.trashOf(home).reduce((sum, one) => sum + use(one.session_id), 0);
  out.line(`The home takes ${bytesWords(trash.diskUse(home))}, ${bytesWords(inTrash)} of it in the trash.`);
  if (dryRun && rows.length > 0) tellNext(out, `bosun prune --older-than ${olderThan}${purge ? " --purge" : ""}`);
  else if (!purge && rows.length > 0) tellNext(out, `bosun rm --restore ${rows[0]?.[0]}`, "bosun prune --purge");
  return ok(EXIT_DONE);
}
