import type { Key } from "../keyboard/decoder.ts";
import { editField, fieldOf, LEAVING } from "../keyboard/field.ts";
import { STEPS } from "../tui/view.ts";
import { parseMoment } from "./moment.ts";
import { goTo, INITIAL_PLAYER, MAX_SPEED, MIN_SPEED, type Player } from "./player.ts";
import { type Entry, isComplete, matches, nextPlace, placeOf, type Tape } from "./tape.ts";

export interface PlayerKeyResult {
  readonly player: Player;
  /** What the key makes the screen do. */
  readonly action?: "leave" | "suspend";
}

export interface PlayerKeyContext {
  /** The ids of the listed tickets, in order, and the selected one. */
  readonly listed: readonly string[];
  readonly selected: string | undefined;
  /** The page size for scrolling. */
  readonly rows: number;
  /** Whether a record's file contains a text. */
  readonly has: (place: number, text: string) => boolean;
}

/** Handles a key. It changes nothing outside: the screen carries out the action. */
export function handlePlayerKey(before: Player, key: Key, tape: Tape, shown: PlayerKeyContext): PlayerKeyResult {
  const player = { ...before, notice: undefined };
  if (key.name === "ctrl-z") return { player, action: "suspend" };
  if (player.typing) return { player: typeKey(player, player.typing, key, tape, shown) };
  const moved = moveKey(player, key, tape, shown);
  return moved ? { player: moved } : pageKey(player, key, shown);
}

function typeKey(
  player: Player,
  { what, field }: NonNullable<Player["typing"]>,
  key: Key,
  tape: Tape,
  shown: PlayerKeyContext,
): Player {
  if (LEAVING.has(key.name)) return { ...player, typing: undefined };
  if (key.name !== "return") return { ...player, typing: { what, field: editField(field, key) } };
  const ended = { ...player, typing: undefined };
  const words = field.text.trim();
  switch (what) {
    case "filter":
      return filtered(ended, words, tape);
    case "find":
      return words === "" ? ended : searched({ ...ended, find: words }, tape, 1, shown);
    case "place": {
      if (/^\d+$/.test(words)) return stopAt(ended, tape, placeOf(tape, Number(words)));
      const at = parseMoment(words, { from: tape.entries[0]?.at ?? 0, to: tape.entries.at(-1)?.at ?? 0 });
      if (at !== undefined) return { ...goTo(ended, tape, { at }), playing: false };
      return { ...ended, notice: "Go to a record number, or a time: 20:31, 20:31:10, +6m or 2026-01-31T20:31:10Z." };
    }
  }
}

function filtered(player: Player, filter: string, tape: Tape): Player {
  const now = { ...player, filter };
  const here = tape.entries[player.place];
  if (filter === "" || (here !== undefined && matches(here, filter))) return now;
  const place = step(now, tape, 1) ?? step(now, tape, -1);
  return place === undefined ? { ...now, notice: "No record read so far matches." } : stopAt(now, tape, place);
}

/** Moves through the log. Returns undefined if the key is for something else. */
function moveKey(player: Player, { name }: Key, tape: Tape, shown: PlayerKeyContext): Player | undefined {
  const last = tape.sequences.length - 1;
  const to = (place: number) => stopAt(player, tape, Math.max(0, Math.min(last, place)));
  if (/^\d$/.test(name)) return to(Math.round((last * Number(name)) / 10));
  switch (name) {
    case " ":
      return toggled(player, tape);
    case "+":
    case "=":
      return { ...player, speed: Math.min(MAX_SPEED, player.speed * 2) };
    case "-":
    case "_":
      return { ...player, speed: Math.max(MIN_SPEED, player.speed / 2) };
    case "right":
      return along(player, tape, 1, "There is no later record.");
    case "left":
      return along(player, tape, -1, "There is no earlier record.");
    case "]":
      return along(player, tape, 1, "There is no later marker.", isMarked);
    case "[":
      return along(player, tape, -1, "There is no earlier marker.", isMarked);
    case "home":
      return to(0);
    case "end":
    case "G":
      return to(last);
    case "pageup":
    case "pagedown":
      return player.page === "json" ? undefined : to(player.place + (name === "pageup" ? -shown.rows : shown.rows));
    case "n":
    case "N":
      if (player.find === "") return { ...player, notice: "Search for a text first: /" };
      return searched(player, tape, name === "n" ? 1 : -1, shown);
    default:
      return undefined;
  }
}

function pageKey(player: Player, { name }: Key, { listed, selected, rows }: PlayerKeyContext): PlayerKeyResult {
  const by = STEPS[name]?.(rows);
  if (by !== undefined && player.page === "json")
    return { player: { ...player, scroll: Math.max(0, player.scroll + by) } };
  if (by !== undefined) {
    const place = listed.indexOf(selected ?? "");
    return { player: { ...player, selected: listed[Math.max(0, Math.min(listed.length - 1, place + by))] } };
  }
  const typing = TYPED[name];
  if (typing !== undefined) return { player: { ...player, typing: { what: typing, field: fieldOf() } } };
  const opened = (page: "json" | "help"): PlayerKeyResult => ({
    player: { ...player, page: player.page === page ? "state" : page, scroll: 0 },
  });
  switch (name) {
    case "v":
    case "return":
      return opened("json");
    case "?":
      return opened("help");
    case "escape":
      return escaped(player);
    case "q":
    case "ctrl-c":
      return { player, action: "leave" };
    default:
      return { player };
  }
}

/** Closes what was opened last, or leaves the player if nothing is open. */
function escaped(player: Player): PlayerKeyResult {
  if (player.page !== "state") return { player: { ...player, page: "state", scroll: 0 } };
  if (player.selected !== undefined) return { player: { ...player, selected: undefined } };
  if (player.filter !== "") return { player: { ...player, filter: "" } };
  return { player, action: "leave" };
}

/** Starts or stops playback. At the end, playback starts over. */
function toggled(player: Player, tape: Tape): Player {
  if (player.playing) return { ...player, playing: false };
  const isAtEnd = player.place === tape.sequences.length - 1;
  const { shown_ms } = INITIAL_PLAYER;
  return { ...(isAtEnd ? goTo(player, tape, { place: 0 }) : player), playing: true, shown_ms };
}

function stopAt(player: Player, tape: Tape, place: number): Player {
  return { ...goTo(player, tape, { place }), playing: false };
}

type IsWanted = (entry: Entry, place: number) => boolean;

/** Stops at the next wanted record in a direction, or says that there is none. */
function along(player: Player, tape: Tape, by: 1 | -1, none: string, isWanted?: IsWanted): Player {
  const place = step(player, tape, by, isWanted);
  if (place !== undefined) return stopAt(player, tape, place);
  return { ...player, playing: false, notice: isComplete(tape) ? none : "The log is still being read." };
}

function searched(player: Player, tape: Tape, by: 1 | -1, { has }: PlayerKeyContext): Player {
  const none = `No more matches for ${JSON.stringify(player.find)}.`;
  return along(player, tape, by, none, (_entry, place) => has(place, player.find));
}

function step({ place, filter }: Player, tape: Tape, by: 1 | -1, isWanted: IsWanted = () => true): number | undefined {
  return nextPlace(tape, place, by, (entry, at) => matches(entry, filter) && isWanted(entry, at));
}

function isMarked({ marker }: Entry): boolean {
  return marker !== undefined;
}

const TYPED: Readonly<Record<string, NonNullable<Player["typing"]>["what"]>> = {
  t: "place",
  g: "place",
  ":": "place",
  f: "filter",
  "/": "find",
};
