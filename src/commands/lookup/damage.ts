import { err } from "../../lib/result.ts";
import { loadMode } from "../../modes/index.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { checkSession } from "../../runtime/replayed-state.ts";
import { databasePath } from "../../store/database.ts";
import { foreignRows } from "../../store/storage-failure.ts";
import type { CommandContext } from "../context/command.ts";
import { homeOf } from "../context/home.ts";
import { lookInto } from "./homes.ts";

/** Why a command broke, if what it read in the database is not what was written. Any other error is a bug, and is thrown again. */
export async function damageBehind(context: CommandContext, error: unknown): Promise<Fallible<never>> {
  const home = homeOf(context);
  const foreign = home.ok ? foreignRows(error, databasePath(home.value)) : undefined;
  if (foreign) return err(foreign);
  const looked =
    home.ok &&
    (await lookInto(context, home.value, async (store) => {
      for (const row of store.sessions()) await checkSession(store, row, await loadMode(row.mode));
    }));
  if (!looked || looked.ok || looked.error.code === "not_found") throw error;
  return err(looked.error);
}
