import { isComplete, matches, nextPlace, placeAt, type Tape } from "./tape.ts";

/** What the person at the player looks at. Plain data. */
export interface Player {
  /** The place of the record that is shown; the session is as it was after it. */
  readonly place: number;
  readonly playing: boolean;
  readonly speed: number;
  /** How long the record has been shown while playing, in ms. */
  readonly shown_ms: number;
  /** Where it goes as soon as the log is read so far. */
  readonly goal: Goal | undefined;
  /** Only records with these words are stepped through. */
  readonly filter: string;
  /** The text that was searched for last. */
  readonly find: string;
  readonly page: "state" | "json" | "help";
  /** How many lines the page is scrolled down. */
  readonly scroll: number;
  /** The selected ticket; that of the record if undefined. */
  readonly selected: string | undefined;
  /** What is being typed on the last row, if anything. */
  readonly typing: { readonly what: "time" | "record" | "filter" | "find"; readonly text: string } | undefined;
  /** A message of the player itself, until the next key. */
  readonly notice: string | undefined;
}

/** A place, or the last one up to an instant, in ms since 1970. */
export type Goal = { readonly place: number } | { readonly at: number };

export const INITIAL_PLAYER: Player = {
  place: 0,
  playing: false,
  speed: 1,
  shown_ms: 0,
  goal: undefined,
  filter: "",
  find: "",
  page: "state",
  scroll: 0,
  selected: undefined,
  typing: undefined,
  notice: undefined,
};

/** A longer pause of the session is shown so long, in ms. */
const IDLE_MS = 2_000;

export const MIN_SPEED = 1 / 8;
export const MAX_SPEED = 1_024;

/** So many records are played in one step. */
const MAX_STEPS = 2_000;

/** Goes to a record; to one that is not read yet as soon as it is. */
export function goTo(player: Player, tape: Tape, goal: Goal): Player {
  const place = "place" in goal ? goal.place : placeAt(tape, goal.at);
  const isRead = place !== undefined && place < tape.entries.length;
  if (!isRead) return { ...player, goal };
  return { ...player, place, goal: undefined, shown_ms: 0, scroll: 0 };
}

/** More of the log was read. */
export function afterRead(player: Player, tape: Tape): Player {
  return player.goal === undefined ? player : goTo(player, tape, player.goal);
}

/** Time has passed, in ms: what was recorded in it, by the speed, is played. */
export function advance(player: Player, tape: Tape, elapsed_ms: number): Player {
  if (!player.playing || player.goal !== undefined) return player;
  let { place } = player;
  let shown_ms = player.shown_ms + elapsed_ms;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const next = nextPlace(tape, place, 1, (entry) => matches(entry, player.filter));
    if (next === undefined) {
      if (isComplete(tape) && !tape.grows)
        return { ...arrived(player, place), playing: false, notice: "This is the last record." };
      break;
    }
    const wait = waitBefore(tape, place, next, player.speed);
    if (shown_ms < wait) break;
    shown_ms -= wait;
    place = next;
  }
  return { ...arrived(player, place), shown_ms };
}

function arrived(player: Player, place: number): Player {
  return place === player.place ? player : { ...player, place, shown_ms: 0, scroll: 0 };
}

function waitBefore({ entries }: Tape, place: number, next: number, speed: number): number {
  const gap = (entries[next]?.at ?? 0) - (entries[place]?.at ?? 0);
  return Math.min(Math.max(0, gap) / speed, IDLE_MS);
}

/** The instant that is shown, in ms since 1970: while playing it goes on between two records. */
export function instantOf({ place, shown_ms, speed }: Player, { entries }: Tape): number {
  const at = entries[place]?.at ?? 0;
  const next = entries[place + 1]?.at ?? at;
  return Math.min(at + shown_ms * speed, Math.max(at, next));
}
