import type { Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { SessionRow, StoreReader } from "../store/store.ts";
import type { Cause } from "../ui/cause.ts";
import { clipped, hanging, safeJson, safeLine, safeText } from "../ui/display.ts";
import { type ChildWaiting, commandFor, showHolds, showKept, showWaiting } from "../ui/waiting.ts";
import type { Output } from "../ui/terminal.ts";
import { localize, tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { invocationName } from "./context/invocation.ts";
import { addPagerOption, paged, type PagerOption } from "./context/paged.ts";
import { keptCommands, type KeptMessage, type Needed } from "./lookup/kept.ts";
import { withChanges } from "./lookup/copies.ts";
import { tellUnknownLogs } from "./lookup/log-source.ts";
import { allHomes, lookIntoAll } from "./lookup/homes.ts";
import { neededOf, whyStopped } from "./lookup/view.ts";

interface InboxOptions extends PagerOption {
  readonly json?: boolean;
  readonly here?: boolean;
}

/** What a session needs a person for, and the messages that wait until it is resumed. All are read while its home is open. */
interface Waits {
  readonly home: string;
  readonly row: SessionRow;
  readonly waiting: readonly Needed[];
  readonly holds: ChildWaiting["holds"];
  readonly kept: readonly KeptMessage[];
  readonly isHeld: boolean;
  /** Why the role failed for which it stopped. */
  readonly cause: Cause | undefined;
}

/** `bosun inbox`: lists everything in all homes of this user that needs a person. */
export function register(command: Command): Action<InboxOptions> {
  command.option("--here", "only what waits in this home").option("--json", "one JSON value on stdout");
  addPagerOption(command);
  return (context, _words, options) => paged(context, options, options.json !== true, (shown) => inbox(shown, options));
}

async function inbox(context: CommandContext, options: InboxOptions): Promise<Exit> {
  const all = allHomes(context, options.here);
  if (!all.ok) return all;
  const [here = ""] = all.value;
  const homes = await lookIntoAll(context, all.value, (store, home) => {
    if (home === here) tellUnknownLogs(context, home, store);
    return waitsIn(context, home, store);
  });
  if (!homes.ok) return homes;
  const { out, err: messages } = context.terminal;
  const found = homes.value.flatMap((looked) => (looked.ok ? looked.value : []));
  const paper = ({ home }: Waits) => outputFor(context, here, home);
  if (options.json === true) out.line(safeJson(found.flatMap((waits) => entriesOf(paper(waits), waits))));
  else show(out, found, paper);
  for (const looked of homes.value) if (!looked.ok) messages.line(safeText(looked.error.message));
  return ok(EXIT_DONE);
}

/** What the sessions of a home need. Throws a `StorageError`. */
async function waitsIn(context: CommandContext, home: string, store: StoreReader): Promise<Waits[]> {
  const all: Waits[] = [];
  for (const row of store.sessions()) {
    if (row.state === "closed") continue;
    const { session_id } = row;
    const needed = await neededOf(store, session_id);
    const waiting = await withChanges(context, { home, store, session_id }, needed.waiting);
    // A spent budget is a limit, not a request: other roles may finish the work.
    const holds = needed.holds.filter(({ limit }) => limit === undefined);
    const kept = keptCommands(store, session_id);
    const isHeld = store.holder(session_id) !== undefined;
    const cause = isHeld ? undefined : whyStopped(store, row);
    if (waiting.length + holds.length + kept.length === 0 && cause === undefined) continue;
    all.push({ home, row, waiting, holds, kept, isHeld, cause });
  }
  return all;
}

/** The output for what waits in a home. From here, a session of another home is found by its id only if Bosun generated that id. */
function outputFor(context: CommandContext, here: string, home: string): Output {
  const { out } = context.terminal;
  return home === here ? out : { ...out, program: invocationName({ ...context, home }), anywhere: out.program };
}

function entriesOf(
  out: Output,
  { home, row: { session_id, workspace }, waiting, holds, kept, cause }: Waits,
): object[] {
  const entry = (what: object, command: string) => ({
    session_id,
    ...what,
    home,
    workspace,
    next: [localize(out, command)],
  });
  const resume = `bosun resume ${session_id}`;
  return [
    ...waiting.map((one) => entry(one, one.kept === undefined ? commandFor(session_id, one) : resume)),
    ...holds.map((hold) => entry({ kind: "hold", ...hold }, `${resume} --release ${hold.role_id}`)),
    ...kept.map((word) => entry({ kind: "kept", ...word }, resume)),
    ...(cause === undefined ? [] : [entry({ kind: "failed", ...cause }, `bosun log ${session_id}`)]),
  ];
}

/** Shows the sessions grouped by workspace, in the order of the homes. */
function show(out: Output, all: readonly Waits[], outputFor: (waits: Waits) => Output): void {
  if (all.length === 0) {
    out.line("Nothing waits for you.");
    tellNext(out, "bosun status");
  }
  for (const [workspace, waits] of Map.groupBy(all, ({ row }) => row.workspace)) {
    out.line(out.style("dim", `in ${safeLine(workspace)}`));
    for (const one of waits) showSession(outputFor(one), one);
  }
}

function showSession(out: Output, { row, waiting, holds, kept, isHeld, cause }: Waits): void {
  const { session_id } = row;
  out.line(out.style("bold", `${session_id}  ${clipped(row.requirement ?? "", out.width - session_id.length - 2)}`));
  const why = cause && hanging(`The ${cause.role_id} failed: ${safeLine(cause.words)}`, out.width - 2, 2);
  for (const line of why ?? []) out.line(`  ${line}`);
  for (const one of waiting) showWaiting(out, session_id, one, one.kept);
  showKept(out, session_id, kept);
  showHolds(out, session_id, holds);
  if (isHeld) return;
  const resume = localize(out, `bosun resume ${session_id}`);
  const [first = "", ...more] = hanging("It is stopped; to continue:", out.width, 2, resume);
  for (const line of [`  ${first}`, ...more]) out.line(line);
}
