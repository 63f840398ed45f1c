import type { Field } from "../keyboard/field.ts";
import { isComplete, matches, nextPlace, placeAt, type Tape } from "./tape.ts";

/** The state of the player. Plain data. */
export interface Player {
  /** The index of the shown record; the session is shown as of that record. */
  readonly place: number;
  readonly playing: boolean;
  readonly speed: number;
  /** How long the record has been shown while playing, in ms. */
  readonly shown_ms: number;
  /** Where to go once the log has been read that far. */
  readonly goal: Goal | undefined;
  /** Steps visit only records with these words. */
  readonly filter: string;
  /** The latest search text. */
  readonly find: string;
  readonly page: "state" | "json" | "help";
  /** Number of lines by which the page is scrolled down. */
  readonly scroll: number;
  /** The selected ticket; the record's ticket if undefined. */
  readonly selected: string | undefined;
  /** The text being typed on the last row, if any. */
  readonly typing: { readonly what: "place" | "filter" | "find"; readonly field: Field } | undefined;
  /** A message from the player itself, shown until the next key. */
  readonly notice: string | undefined;
}

/** A record's index, or the last record up to a time in ms since 1970. */
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

/** Maximum time to wait for the next record during playback, in ms. */
const IDLE_MS = 2_000;

export const MIN_SPEED = 1 / 8;
export const MAX_SPEED = 1_024;

/** Maximum number of records played in one step. */
const MAX_STEPS = 2_000;

/** Goes to a record. If it has not been read yet, it becomes the goal. */
export function goTo(player: Player, tape: Tape, goal: Goal): Player {
  const place = "place" in goal ? goal.place : placeAt(tape, goal.at);
  const isRead = place !== undefined && place < tape.entries.length;
  if (!isRead) return { ...player, goal };
  return { ...player, place, goal: undefined, shown_ms: 0, scroll: 0 };
}

/** Call when more of the log has been read. */
export function afterRead(player: Player, tape: Tape): Player {
  return player.goal === undefined ? player : goTo(player, tape, player.goal);
}

/** Plays the records that are due after the elapsed time, in ms, at the current speed. */
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
    const gap = (tape.entries[next]?.at ?? 0) - (tape.entries[place]?.at ?? 0);
    const wait = Math.min(Math.max(0, gap) / player.speed, IDLE_MS);
    if (shown_ms < wait) break;
    shown_ms -= wait;
    place = next;
  }
  return { ...arrived(player, place), shown_ms };
}

function arrived(player: Player, place: number): Player {
  return place === player.place ? player : { ...player, place, shown_ms: 0, scroll: 0 };
}

/** The shown time, in ms since 1970. During playback it advances between two records. */
export function instantOf({ place, shown_ms, speed }: Player, { entries }: Tape): number {
  const at = entries[place]?.at ?? 0;
  const next = entries[place + 1]?.at ?? at;
  return Math.min(at + shown_ms * speed, Math.max(at, next));
}
