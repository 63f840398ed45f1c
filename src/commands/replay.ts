import type { Command } from "commander";
import { err, ok } from "../lib/result.ts";
import type { Listing } from "../log/reader.ts";
import { fails, type Failure, failure, type Fallible } from "../protocol/failure.ts";
import { parseMoment } from "../ui/player/moment.ts";
import { INITIAL_PLAYER, MAX_SPEED, MIN_SPEED, type Player } from "../ui/player/player.ts";
import { spanOf } from "../ui/player/recording.ts";
import { unfitFor } from "../ui/tui/fit.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addPagerOption, paged, type PagerOption } from "./context/paged.ts";
import { playLog } from "./driver/play.ts";
import { listingOf, type LogSource, sourceOf } from "./lookup/log-source.ts";
import { type Bound, type FilterOptions, readBound, readFilter, type RecordFilter } from "./options/record-filter.ts";
import { listRecords } from "./driver/record-list.ts";
import { verify } from "./presenters/verify.ts";

interface ReplayOptions extends FilterOptions, PagerOption {
  readonly verify?: boolean;
  readonly json?: boolean;
  readonly follow?: boolean;
  readonly list?: boolean;
  readonly play?: boolean;
  readonly at?: string;
  readonly speed?: string;
  readonly step?: boolean;
}

/** `bosun replay`: plays a session from its files at a terminal, or lists it; with `--verify`, proves it. */
export function register(command: Command): Action<ReplayOptions> {
  command
    .argument("[session-or-folder]", "a session, or a log folder (default: the running session, else the newest)")
    .option("--verify", "prove that the log is complete and that every decision follows from it")
    .option("--play", "play it on the screen (the default at a terminal)")
    .option("--at <when>", "open the player at this record or time, paused")
    .option("--speed <n>", "playback speed: 8 is eight times as fast")
    .option("--step", "open the player paused")
    .option("--list", "list the records (the default without a terminal, and with the options below)")
    .option("--ticket <id>", "only records about this ticket")
    .option("--type <type>", "only this payload type")
    .option("--from <when>", "start at this record or time")
    .option("--to <when>", "end at this record or time")
    .option("-f, --follow", "go on with new records until the session stops")
    .option("--json", "one JSON record a line; with --verify one object");
  addPagerOption(command);
  return replay;
}

async function replay(context: CommandContext, [named]: readonly string[], options: ReplayOptions): Promise<Exit> {
  const combined = contradiction(options);
  if (combined) return err(combined);
  const filter = readFilter(options);
  if (!filter.ok) return filter;
  const begin = readBegin(options);
  if (!begin.ok) return begin;
  const source = await sourceOf(context, named);
  if (!source.ok) return source;
  const { verify: proves = false, json = false, follow = false } = options;
  if (proves) return verify(context, source.value, json);
  if (follow && source.value.row === undefined) {
    return fails("usage", "--follow needs a session: a log folder by itself gets no new records.", {
      hint: "Name the session, or leave out --follow.",
    });
  }
  const listing = listingOf(source.value);
  if (!listing.ok) return listing;
  if (listing.value.files.length > 0 && isPlayed(context, options))
    return playLog(
      context,
      source.value,
      listing.value,
      playerOf(begin.value, filter.value, source.value, listing.value),
    );
  return paged(context, options, !json && !follow, (shown) =>
    listRecords(shown, source.value, listing.value, filter.value, { json, follow }),
  );
}

function contradiction(options: ReplayOptions): Failure | undefined {
  const { verify: proves, from, to, ticket, type, json, follow, list } = options;
  if (proves === true && [from, to, ticket, type, follow].some((one) => one !== undefined)) {
    return failure(
      "usage",
      "--verify proves the whole log, and cannot be combined with --ticket, --type, --from, --to or --follow.",
      { hint: "Leave out --verify to see those records, or the filters to prove the log." },
    );
  }
  if (isAsked(options) && [proves, json, follow, list, from, to].some((one) => one !== undefined)) {
    return failure(
      "usage",
      "--play, --at, --speed and --step open the player, and cannot be combined with --verify, --json, --follow, --list, --from or --to.",
      { hint: "To begin later: --at. To see only some records: --ticket, --type." },
    );
  }
  return undefined;
}

/** Whether an option asks for the player. */
function isAsked({ play, at, speed, step }: ReplayOptions): boolean {
  return [play, at, speed, step].some((one) => one !== undefined);
}

/**
 * The player is the default for a person at a terminal that it fits, unless another option asks for something else. If it was asked for and
 * does not fit, says why.
 */
function isPlayed({ terminal, environment }: CommandContext, options: ReplayOptions): boolean {
  const { ticket, type, from, to, json, follow, list } = options;
  const unfit = unfitFor(terminal, environment, "The replay player");
  if (isAsked(options)) {
    if (unfit !== undefined) terminal.err.line(`${unfit} The records are listed.`);
    return unfit === undefined;
  }
  const { BOSUN_REPORTER = "" } = environment;
  const isUsual = BOSUN_REPORTER === "" || BOSUN_REPORTER === "tui";
  const asksForList = [ticket, type, from, to, json, follow, list].some((one) => one !== undefined);
  return !asksForList && isUsual && terminal.hasPerson && unfit === undefined;
}

interface Begin {
  readonly at: Bound | undefined;
  readonly speed: number;
  readonly playing: boolean;
}

function readBegin({ at, speed, step }: ReplayOptions): Fallible<Begin> {
  const bound = readBound("--at", at);
  if (!bound.ok) return bound;
  const times = speed === undefined ? 1 : Number(speed);
  if (!(times >= MIN_SPEED && times <= MAX_SPEED)) {
    return fails("usage", `--speed ${JSON.stringify(speed)} is not a number from ${MIN_SPEED} to ${MAX_SPEED}.`, {
      hint: "Write 8 to play eight times as fast.",
    });
  }
  return ok({ at: bound.value, speed: times, playing: at === undefined && step !== true });
}

function playerOf(
  { at, speed, playing }: Begin,
  { ticket = "", type = "" }: RecordFilter,
  { folder }: LogSource,
  { files }: Listing,
): Player {
  const filter = [ticket, type].filter((word) => word !== "").join(" ");
  const moment = typeof at === "string" ? parseMoment(at, spanOf(folder, files)) : undefined;
  const place = typeof at === "number" ? files.findLastIndex(({ sequence }) => sequence <= at) : -1;
  const goal = moment === undefined ? (place > 0 ? { place } : undefined) : { at: moment };
  return { ...INITIAL_PLAYER, filter, speed, playing, goal };
}
