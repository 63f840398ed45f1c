import type { Command } from "commander";
import { err, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { chooseSession } from "./choose.ts";
import { whyClosed } from "./closed.ts";
import type { CommandContext, Run } from "./command.ts";
import { putToOwner } from "./put.ts";
import { openExistingHome } from "./home.ts";

/** `bosun pause`: no new turns begin until `bosun resume`; those that run go on to their end. */
export function register(command: Command, run: Run): void {
  command
    .argument(
      "[session]",
      "its id or the beginning of it (default: the one that runs, else the newest that is not closed)",
    )
    .action((named: string | undefined) => run((context) => pause(context, named)));
}

async function pause(context: CommandContext, named: string | undefined): Promise<Result<number, Failure>> {
  const opened = openExistingHome(context);
  if (!opened.ok) return opened;
  const { store } = opened.value;
  try {
    const row = chooseSession(store, named);
    if (!row.ok) return row;
    const closed = whyClosed(row.value);
    if (closed) return err(closed);
    return await putToOwner(context, store, row.value, { payload_type: "user_command", payload: { command: "pause" } });
  } finally {
    store.close();
  }
}
