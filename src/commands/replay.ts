import { spawn } from "node:child_process";
import { basename } from "node:path";
import { type Command, Option } from "commander";
import { textOf } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import type { Listing } from "../log/reader.ts";
import { readerOf } from "../modes/index.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { keepYoungSmall } from "../runtime/memory.ts";
import type { Proof } from "../runtime/proof.ts";
import type { ProofState } from "../ui/player/frame.ts";
import { parseMoment } from "../ui/player/moment.ts";
import { PlayerScreen } from "../ui/player/player-screen.ts";
import { INITIAL_PLAYER, MAX_SPEED, MIN_SPEED, type Player } from "../ui/player/player.ts";
import { Recording, spanOf } from "../ui/player/recording.ts";
import { isDamaged } from "../ui/proof-words.ts";
import { unfitFor } from "../ui/tui/fit.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { ownArguments } from "./context/program.ts";
import { addPagerOption, paged, type PagerOption } from "./context/paged.ts";
import { watchSignals } from "./context/signals.ts";
import {
  type Bound,
  type FilterOptions,
  listRecords,
  readBound,
  readFilter,
  type RecordFilter,
} from "./driver/record-list.ts";
import { listingOf, type LogSource, sourceOf, typedName } from "./lookup/log-source.ts";
import { retellingOfFolder } from "./lookup/modes.ts";
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
    .addOption(
      new Option("--verify", "prove that the log is complete and that every decision follows from it").conflicts(
        // They would prove a part, which proves nothing.
        ["ticket", "type", "from", "to", "follow"],
      ),
    )
    .addOption(playing("--play", "play it on the screen (the default at a terminal)"))
    .addOption(playing("--at <when>", "open the player at this record or time, paused"))
    .addOption(playing("--speed <n>", "playback speed: 8 is eight times as fast"))
    .addOption(playing("--step", "open the player paused"))
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

function playing(flags: string, description: string): Option {
  return new Option(flags, description).conflicts(["verify", "json", "follow", "list", "from", "to"]);
}

async function replay(context: CommandContext, [named]: readonly string[], options: ReplayOptions): Promise<Exit> {
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

/**
 * The player is the default for a person at a terminal that it fits, unless another option asks for something else. If it was asked for and
 * does not fit, says why.
 */
function isPlayed({ terminal, environment }: CommandContext, options: ReplayOptions): boolean {
  const { ticket, type, from, to, json, follow, list } = options;
  const unfit = unfitFor(terminal, environment, "The replay player");
  if ([options.play, options.at, options.speed, options.step].some((one) => one !== undefined)) {
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

/** Plays a log at this terminal until the person leaves. */
async function playLog(context: CommandContext, source: LogSource, listing: Listing, begin: Player): Promise<Exit> {
  const { terminal, leave } = context;
  const { out } = terminal;
  keepYoungSmall();
  const enough = new AbortController();
  const left = new AbortController();
  const signals = watchSignals({ stop: () => enough.abort() }, leave);
  const recording = new Recording(
    source.folder,
    listing,
    source.isHeld,
    await retellingOfFolder(source.folder, listing),
  );
  const name = source.row?.session_id ?? basename(source.folder);
  const { mode } = recording.read(0).record?.payload ?? {};
  recording.presentation = readerOf(textOf(mode))?.presentation;
  const prove = () => proveApart(context, source, left.signal);
  const screen = new PlayerScreen({ terminal, recording, name, begin, prove });
  try {
    const { place } = await screen.run(AbortSignal.any([enough.signal, out.ended]));
    const { sequences } = recording.tape;
    const sequence = sequences[place] ?? 0;
    out.line(`Left at record ${sequence}, ${place + 1} of ${sequences.length}.`);
    tellNext(out, `bosun replay ${typedName(source)} --at ${sequence}`);
    return ok(signals.exitCode() ?? EXIT_DONE);
  } finally {
    left.abort();
    signals.restore();
  }
}

/** Proves the log in its own process, because proving a long one takes seconds and much memory. */
function proveApart(context: CommandContext, { row, folder }: LogSource, signal: AbortSignal): Promise<ProofState> {
  const named = context.home === undefined ? [] : ["--home", context.home];
  const words = [...named, "replay", row?.session_id ?? folder, "--verify", "--json"];
  const child = spawn(process.execPath, ownArguments(words), {
    cwd: context.directory,
    env: context.environment,
    stdio: ["ignore", "pipe", "ignore"],
    signal,
  });
  let written = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (written += text));
  return new Promise((resolve) => {
    child.once("error", () => resolve(NO_PROOF));
    child.once("close", () => resolve(proofIn(written)));
  });
}

const NO_PROOF: ProofState = { state: "none", problems: [] };

/** Parses the output of `replay --verify --json`. */
function proofIn(written: string): ProofState {
  try {
    const proof = JSON.parse(written) as Partial<Proof>;
    if (proof.problems === undefined) return NO_PROOF;
    const state = proof.ok === true ? "ok" : isDamaged(proof as Proof) ? "failed" : "open";
    return { state, problems: proof.problems };
  } catch {
    return NO_PROOF;
  }
}
