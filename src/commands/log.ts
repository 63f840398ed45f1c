import { type Presentation, shownStatus } from "../kernel/presentation.ts";
import { applyToState, emptyState, newSubject, type SessionState } from "../kernel/state.ts";
import { tellingOf } from "../protocol/telling.ts";
import type { Retell } from "../runtime/retelling.ts";
import { readerOf } from "../modes/index.ts";
import { retellingOf } from "./lookup/modes.ts";
import { setTimeout as delay } from "node:timers/promises";
import type { Command } from "commander";
import { listOf, objectOf } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import type { LogRecord } from "../protocol/record.ts";
import { instant } from "../protocol/timestamp.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { progressOf } from "../runtime/feed/standing.ts";
import { TurnOutput } from "../runtime/feed/turn-output.ts";
import { sessionPaths } from "../runtime/paths.ts";
import { sessionTime } from "../runtime/time/session-time.ts";
import type { StoreReader } from "../store/store.ts";
import { recordsOf } from "../store/kept-record.ts";
import { clipped, safeLine } from "../ui/display.ts";
import { PROGRESS_MS, progressLine } from "../ui/progress.ts";
import { type RecordLine, WHOLE } from "../ui/record-event.ts";
import { timelineLines } from "../ui/timeline.ts";
import { RecordFormatter } from "../ui/record-formatter.ts";
import type { Output } from "../ui/terminal.ts";
import { counted, tellNext, wordsOf } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addPagerOption, paged, type PagerOption } from "./context/paged.ts";
import { readHomeOf, withSession } from "./lookup/homes.ts";
import { ANY_SESSION, SHOW, type Target } from "./lookup/resolve.ts";
import { type AgentTurn, showAgentOutput } from "./presenters/agent-output.ts";

interface LogOptions extends PagerOption {
  readonly follow?: boolean;
}

/** Maximum width of a line that an agent printed, in columns. */
const WIDEST_LINE = 1_000;

/** How often a followed session is polled for changes, in ms; a poll costs one pragma. */
const LOOK_EVERY_MS = 100;

/** `bosun log`: shows what happened in a session, and for a ticket also what its agents printed. */
export function register(command: Command): Action<LogOptions> {
  command
    .argument(...ANY_SESSION)
    .argument("[ticket]", "only this ticket")
    .option("-f, --follow", "follow the session until it stops");
  addPagerOption(command);
  return (context, words, options) =>
    paged(context, options, options.follow !== true, (shown) => log(shown, words, options));
}

async function log(context: CommandContext, words: readonly string[], { follow = false }: LogOptions): Promise<Exit> {
  return withSession(readHomeOf, context, { words, command: "log" }, SHOW, async (target) => {
    const { home, store, row, session_id, ticket_id } = target;
    const { out } = context.terminal;
    const paths = sessionPaths(home, session_id);
    const story: Story = {
      out,
      store,
      target,
      output: paths.output,
      formatter: new RecordFormatter(),
      presentation: readerOf(row.mode)?.presentation,
      retell: await retellingOf(store, session_id),
      state: emptyState(),
      turns: new Map(),
      progress: undefined,
      followsOutput: false,
      printing: undefined,
      hasLines: false,
    };
    let shown = show(story, 0);
    if (ticket_id !== undefined && !story.hasLines && story.progress === undefined) {
      const status = story.state.subjects.get(ticket_id)?.status;
      out.line(`Nothing has happened to ${safeLine(ticket_id)} yet${status === undefined ? "" : `; it is ${status}`}.`);
    }
    if (follow) shown = await followOn(story, shown);
    showProgress(story);
    showAgentOutput(out, paths.output, story.turns.values(), ticket_id !== undefined && !story.followsOutput);
    if (ticket_id !== undefined) {
      tellNext(out, `bosun replay ${session_id} --ticket ${safeLine(ticket_id)}`);
      return ok(EXIT_DONE);
    }
    out.line(out.style("dim", `record  ${safeLine(paths.log)} (${counted(shown, "record")})`));
    const subjects = [...story.state.subjects.values()];
    const failed = subjects.find(({ status }) => shownStatus(story.presentation, status).stage === "failed");
    const { id } = failed ?? subjects[0] ?? {};
    tellNext(out, id === undefined ? `bosun status ${session_id}` : `bosun log ${session_id} ${safeLine(id)}`);
    return ok(EXIT_DONE);
  });
}

interface FollowedTurn extends AgentTurn {
  readonly run: number;
}

/** The state of a log while it is shown. */
interface Story {
  readonly out: Output;
  readonly store: StoreReader;
  readonly target: Target;
  readonly output: string;
  readonly formatter: RecordFormatter;
  readonly presentation: Presentation | undefined;
  readonly retell: Retell;
  /** What stood in the session after the last record. */
  readonly state: SessionState;
  /** The turns about the named ticket; without one, the turns about no ticket (the manager's). */
  readonly turns: Map<string, FollowedTurn>;
  /** The latest progress that was not shown yet, and how many such reports there were: there may be thousands. */
  progress: { readonly record: LogRecord; readonly words: string; readonly times: number } | undefined;
  /** Whether the output of the named ticket's agent is shown as it comes. */
  followsOutput: boolean;
  printing: { readonly role_id: string; readonly output: TurnOutput } | undefined;
  /** Whether anything was shown. */
  hasLines: boolean;
}

/** Shows the records after `from`; returns the sequence of the last one. */
function show(story: Story, from: number): number {
  const { store, output, formatter, presentation, turns, state } = story;
  const { row, ticket_id } = story.target;
  let last = from;
  for (const stored of recordsOf(store, row.session_id, from + 1)) {
    last += 1;
    const record = story.retell(last, stored);
    const answered = ticketAnswered(state, record);
    applyToState(state, record, tellingOf(record), newSubject);
    const { ticket_id: about, turn_id, run = 1, attempt, received_at } = record.record;
    if (record.payload_type === "turn_request" && turn_id !== undefined && about === ticket_id) {
      const turn = { turn_id, run, role_id: record.target, attempt };
      turns.set(turn_id, turn);
      if (story.followsOutput) followOutput(story, turn, false);
    }
    const words = about === ticket_id ? progressOf(record) : undefined;
    if (words !== undefined) story.progress = { record, words, times: (story.progress?.times ?? 0) + 1 };
    for (const line of formatter.format(record, { ...WHOLE, output, presentation })) {
      const ticket = line.ticket ?? answered;
      if (ticket_id !== undefined && ticket !== ticket_id) continue;
      // Output that led to the record was printed before it.
      showPrinted(story);
      showProgress(story);
      showLine(story, received_at, { ...line, ticket });
    }
  }
  return last;
}

function showLine(story: Story, at: string, shown: RecordLine): void {
  story.hasLines = true;
  for (const line of timelineLines(story.out, new Date(at), shown)) story.out.line(line);
}

/** Follows the output of the ticket's agent in a turn, from now on or from the beginning. An agent works on one turn at a time. */
function followOutput(story: Story, turn: FollowedTurn, fromNow: boolean): void {
  showPrinted(story, true);
  const output = new TurnOutput(story.output, turn, fromNow, Number.POSITIVE_INFINITY);
  story.printing = { role_id: turn.role_id, output };
}

/** Shows what the ticket's agent printed since the last call; with `toEnd`, all of it. */
function showPrinted(story: Story, toEnd = false): void {
  const { printing, target } = story;
  for (const { text } of printing?.output.read(toEnd) ?? []) {
    const line = {
      ticket: target.ticket_id,
      text: `${printing?.role_id} | ${clipped(text.replace(/^\| /, ""), WIDEST_LINE)}`,
    };
    const now = instant(sessionTime(story.store, target.row.session_id, true));
    showLine(story, now, { ...line, style: "dim" });
  }
}

/** Shows the latest progress before something else happens, or at the end. */
function showProgress(story: Story): void {
  if (story.progress === undefined) return;
  const { record, words, times } = story.progress;
  story.progress = undefined;
  showLine(story, record.record.received_at, progressLine(record, words, times));
}

/** The ticket that a person's answers are about. */
function ticketAnswered({ asks }: SessionState, { payload_type, payload }: LogRecord): string | undefined {
  if (payload_type !== "clarification_response") return undefined;
  const question_id = wordsOf(objectOf(listOf(payload.answers)[0]).question_id);
  return asks.get(wordsOf(payload.ask_id) || (question_id.split(".")[0] ?? ""))?.subject;
}

/** Follows the session until it stops or the output is closed, so that `log --follow | grep -m 1 done` ends with that line. */
async function followOn(story: Story, from: number): Promise<number> {
  const { out, store, target } = story;
  let shown = from;
  let version: number | undefined;
  let lastShown = performance.now();
  const held = () => store.holder(target.row.session_id) !== undefined;
  if (target.ticket_id !== undefined && held()) beginOutput(story);
  for (;;) {
    // Read the owner before the records, so that its last records are still shown.
    const isHeld = held();
    showPrinted(story, !isHeld);
    const now = store.version();
    if (now !== version) shown = show(story, shown);
    version = now;
    if (performance.now() - lastShown >= PROGRESS_MS) {
      showProgress(story);
      lastShown = performance.now();
    }
    if (!isHeld || out.ended.aborted) return shown;
    await delay(LOOK_EVERY_MS);
  }
}

/** Shows the end of the output of the ticket's latest agent, and follows it from there. */
function beginOutput(story: Story): void {
  story.followsOutput = true;
  const latest = [...story.turns.values()].at(-1);
  if (latest === undefined) return;
  showAgentOutput(story.out, story.output, [latest], true);
  followOutput(story, latest, true);
}
