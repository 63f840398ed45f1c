import { editText, type Key, STEPS, withPaste } from "../tui/view.ts";
import { parseMoment } from "./moment.ts";
import { goTo, INITIAL_PLAYER, MAX_SPEED, MIN_SPEED, type Player } from "./player.ts";
import { type Entry, isComplete, matches, nextPlace, placeOf, type Tape } from "./tape.ts";

/** What a key makes the player's screen do. */
export type PlayerAction =
  | { readonly do: "leave" | "suspend" }
  | { readonly do: "find"; readonly text: string; readonly from: number; readonly by: 1 | -1 };

export interface PlayerKeyResult {
  readonly player: Player;
  readonly action?: PlayerAction | undefined;
}

/** The context that `handlePlayerKey` needs. */
export interface PlayerKeyContext {
  /** The ids of the listed tickets, in order, and the selected one. */
  readonly listed: readonly string[];
  readonly selected: string | undefined;
  /** The page size for scrolling. */
  readonly rows: number;
}

/** Handles a key. Pure: the screen carries out the action. */
export function handlePlayerKey(before: Player, key: Key, tape: Tape, shown: PlayerKeyContext): PlayerKeyResult {
  const player = { ...before, notice: undefined };
  if (key.ctrl === true) {
    if (key.name === "c") return { player, action: { do: "leave" } };
    return key.name === "z" ? { player, action: { do: "suspend" } } : { player };
  }
  if (player.typing) return typeKey(player, player.typing, key, tape);
  const moved = moveKey(player, key, tape, shown.rows);
  return moved ? { player: moved } : pageKey(player, key, shown);
}

/** Call when a search has ended; `place` is undefined if it found nothing. */
export function afterSearch(player: Player, tape: Tape, place: number | undefined): Player {
  const notice = place === undefined ? `No more matches for ${JSON.stringify(player.find)}.` : undefined;
  return { ...(place === undefined ? player : stopAt(player, tape, place)), notice };
}

/** Adds pasted text to the text being typed; elsewhere it is ignored, so that it does not act as keys. */
export function handlePlayerPaste(player: Player, text: string): Player {
  const { typing } = player;
  return typing === undefined ? player : { ...player, typing: { ...typing, text: withPaste(typing.text, text) } };
}

function typeKey(
  player: Player,
  { what, text }: NonNullable<Player["typing"]>,
  { name }: Key,
  tape: Tape,
): PlayerKeyResult {
  if (name === "escape") return { player: { ...player, typing: undefined } };
  if (name !== "return") return { player: { ...player, typing: { what, text: editText(text, name) } } };
  const ended = { ...player, typing: undefined };
  const words = text.trim();
  if (what === "find") return words === "" ? { player: ended } : search({ ...ended, find: words }, 1);
  return { player: typed(ended, what, words, tape) };
}

function search(player: Player, by: 1 | -1): PlayerKeyResult {
  const { find: text, place: from } = player;
  return { player: { ...player, playing: false }, action: { do: "find", text, from, by } };
}

/** The player after a filter, the number of a record or a time has been typed. */
function typed(player: Player, what: "filter" | "record" | "time", words: string, tape: Tape): Player {
  if (what === "filter") return filtered(player, words, tape);
  if (what === "record") {
    if (/^\d+$/.test(words)) return stopAt(player, tape, placeOf(tape, Number(words)));
    return { ...player, notice: "Not a record number." };
  }
  const [first] = tape.entries;
  const at = parseMoment(words, { from: first?.at ?? 0, to: tape.entries.at(-1)?.at ?? 0 });
  if (at !== undefined) return { ...goTo(player, tape, { at }), playing: false };
  return { ...player, notice: "A time is 20:31, 20:31:10, +6m or 2026-01-31T20:31:10Z." };
}

function filtered(player: Player, filter: string, tape: Tape): Player {
  const now = { ...player, filter };
  const here = tape.entries[player.place];
  if (filter === "" || (here !== undefined && matches(here, filter))) return now;
  const place = step(now, tape, 1) ?? step(now, tape, -1);
  return place === undefined ? { ...now, notice: "No record read so far matches." } : stopAt(now, tape, place);
}

/** Moves through the log. Returns undefined if the key is for something else. */
function moveKey(player: Player, { name }: Key, tape: Tape, rows: number): Player | undefined {
  const last = tape.sequences.length - 1;
  const to = (place: number) => stopAt(player, tape, Math.max(0, Math.min(last, place)));
  const along = (by: 1 | -1, what: string, isWanted?: (entry: Entry) => boolean) => {
    const place = step(player, tape, by, isWanted);
    if (place !== undefined) return to(place);
    const none = `There is no ${by === 1 ? "later" : "earlier"} ${what}.`;
    return { ...player, playing: false, notice: isComplete(tape) ? none : "The log is still being read." };
  };
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
      return along(1, "record");
    case "left":
      return along(-1, "record");
    case "]":
      return along(1, "marker", isMarked);
    case "[":
      return along(-1, "marker", isMarked);
    case "home":
      return to(0);
    case "end":
    case "G":
      return to(last);
    case "pageup":
    case "pagedown":
      return player.page === "json" ? undefined : to(player.place + (name === "pageup" ? -rows : rows));
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
  if (typing !== undefined) return { player: { ...player, typing: { what: typing, text: "" } } };
  const opened = (page: "json" | "help"): PlayerKeyResult => ({
    player: { ...player, page: player.page === page ? "state" : page, scroll: 0 },
  });
  switch (name) {
    case "n":
    case "N":
      if (player.find === "") return { player: { ...player, notice: "Search for a text first: /" } };
      return search(player, name === "n" ? 1 : -1);
    case "v":
    case "return":
      return opened("json");
    case "?":
      return opened("help");
    case "escape":
      return escaped(player);
    case "q":
      return { player, action: { do: "leave" } };
    default:
      return { player };
  }
}

/** Closes what was opened last, or leaves the player if nothing is open. */
function escaped(player: Player): PlayerKeyResult {
  if (player.page !== "state") return { player: { ...player, page: "state", scroll: 0 } };
  if (player.selected !== undefined) return { player: { ...player, selected: undefined } };
  if (player.filter !== "") return { player: { ...player, filter: "" } };
  return { player, action: { do: "leave" } };
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

function step(
  { place, filter }: Player,
  tape: Tape,
  by: 1 | -1,
  isWanted: (entry: Entry) => boolean = () => true,
): number | undefined {
  return nextPlace(tape, place, by, (entry) => isWanted(entry) && matches(entry, filter));
}

function isMarked({ marker }: Entry): boolean {
  return marker !== undefined;
}

const TYPED: Readonly<Record<string, NonNullable<Player["typing"]>["what"]>> = {
  t: "time",
  g: "record",
  ":": "record",
  f: "filter",
  "/": "find",
};
