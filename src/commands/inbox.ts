import type { Command } from "commander";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import { clipped, safeJson } from "../ui/display.ts";
import { type ChildWaiting, showHolds, showKept, showWaiting } from "../ui/waiting.ts";
import { localize, tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { readHome, withHome } from "./context/home.ts";
import { cancelFor, keptCommands, keptFor, type KeptMessage, settledBy } from "./interaction/kept.ts";
import { neededOf } from "./lookup/asks.ts";

interface InboxOptions {
  readonly json?: boolean;
}

/** What one session needs a person for, and the messages that wait until it is resumed. */
interface Waits extends Omit<ChildWaiting, "session_id"> {
  readonly row: SessionRow;
  readonly kept: readonly KeptMessage[];
}

/** `bosun inbox`: everything in this home that needs a person. */
export function register(command: Command, run: Run): void {
  command
    .option("--json", "one JSON value on stdout")
    .action((options: InboxOptions) => run((context) => inbox(context, options)));
}

async function inbox(context: CommandContext, options: InboxOptions): Promise<Result<number, Failure>> {
  return withHome(readHome(context), async ({ store }) => {
    const all = await allWaits(store);
    if (!all.ok) return all;
    if (options.json === true) {
      const entries = all.value.flatMap(({ row: { session_id }, waiting, holds, kept }) => [
        ...waiting.map((one) => ({ session_id, ...one, kept: settledBy(store, session_id, one) })),
        ...holds.map((hold) => ({ session_id, kind: "hold", ...hold })),
        ...kept.map((word) => ({ session_id, kind: "kept", ...word })),
      ]);
      context.terminal.out.line(safeJson(entries));
    } else {
      show(context, store, all.value);
    }
    return ok(EXIT_DONE);
  });
}

async function allWaits(store: StoreReader): Promise<Result<Waits[], Failure>> {
  const all: Waits[] = [];
  for (const row of store.sessions()) {
    if (row.state === "closed") continue;
    const needed = await neededOf(store, row.session_id);
    if (!needed.ok) return needed;
    const { waiting } = needed.value;
    // A spent budget is a limit, not a request: other roles may finish the work.
    const holds = needed.value.holds.filter(({ limit }) => limit === undefined);
    const kept = keptCommands(store, row.session_id);
    if (waiting.length + holds.length + kept.length > 0) all.push({ row, waiting, holds, kept });
  }
  return ok(all);
}

function show({ terminal: { out } }: CommandContext, store: StoreReader, all: readonly Waits[]): void {
  if (all.length === 0) {
    out.line("Nothing needs you.");
    tellNext(out, "bosun status");
  }
  for (const { row, waiting, holds, kept } of all) {
    const { session_id } = row;
    out.line(out.style("bold", `${session_id}  ${clipped(row.requirement ?? "", out.width - session_id.length - 2)}`));
    const asked = waiting.filter((one) => cancelFor(store, session_id, one) === undefined);
    for (const one of asked) showWaiting(out, session_id, one, keptFor(store, session_id, one));
    showKept(out, session_id, kept);
    showHolds(out, session_id, holds);
    if (store.holder(session_id) === undefined)
      out.line(localize(out, `  It is stopped; to continue: bosun resume ${session_id}`));
  }
}
