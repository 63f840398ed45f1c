import type { Key } from "../keyboard/decoder.ts";
import { editField, type Field, fieldOf, LEAVING } from "../keyboard/field.ts";
import type { Scene } from "./scene.ts";

/** The state of the dashboard's view. */
export interface View {
  readonly page: "list" | "ticket" | "graph" | "help";
  /** The selected ticket; the first one listed if this is undefined or not listed. */
  readonly selected: string | undefined;
  /** Number of lines by which the ticket's page is scrolled up from its end; 0 follows new lines. */
  readonly scroll: number;
  /** Shows only tickets with this text in their id, title, owner or state. */
  readonly filter: string;
  /** The text being typed on the last row, if any. */
  readonly typing: { readonly what: "filter" | "tell"; readonly field: Field } | undefined;
  /** The text that Escape last left in a field. */
  readonly draft: string;
  readonly confirm: Action | undefined;
}

export const INITIAL_VIEW: View = {
  page: "list",
  selected: undefined,
  scroll: 0,
  filter: "",
  typing: undefined,
  draft: "",
  confirm: undefined,
};

/** What a key makes the dashboard do, to the session or to itself. */
export type Action = SessionAction | BesideAction | { readonly do: "answer" | "merge" | "leave" | "stop" | "suspend" };

/** A command to the session or one of its tickets. */
export type SessionAction =
  | { readonly do: "pause" | "resume" }
  | { readonly do: "retry" | "cancel"; readonly ticket_id: string }
  | { readonly do: "tell"; readonly ticket_id: string | undefined; readonly text: string };

/** Something that is shown in the dashboard's place until the person goes back. */
export interface BesideAction {
  readonly do: "report" | "log" | "diff" | "edit" | "next";
  /** The ticket whose page is open; for a difference, also the selected one of a list. */
  readonly ticket_id: string | undefined;
}

const BESIDE: Readonly<Record<string, BesideAction["do"]>> = { R: "report", L: "log", d: "diff", e: "edit", n: "next" };

export interface KeyContext extends Pick<Scene, "steers" | "diffs" | "merges"> {
  /** The ids of the listed tickets, in order. */
  readonly listed: readonly string[];
  readonly paused: boolean;
  /** The page size for scrolling: the rows of the body. */
  readonly rows: number;
  /** Whether the selected ticket can be tried again, or cancelled. */
  readonly retries: boolean;
  readonly cancels: boolean;
  /** Whether stopping cuts turns off, so that Ctrl-C asks first. */
  readonly cuts: boolean;
}

export interface KeyResult {
  readonly view: View;
  readonly action?: Action | undefined;
}

/** Handles a key. Pure: the dashboard carries out the action. */
export function handleKey(view: View, key: Key, shown: KeyContext): KeyResult {
  if (key.name === "ctrl-z") return { view, action: { do: "suspend" } };
  if (view.typing) return typeKey(view, view.typing, key);
  if (view.confirm) return confirmKey(view, view.confirm, key);
  if (key.name === "ctrl-c") return shown.cuts ? { view: { ...view, confirm: STOP } } : { view, action: STOP };
  return moveKey(view, key, shown) ?? steerKey(view, key, shown);
}

/** The selected ticket if it is listed, or the first one listed. */
export function selectedOf(view: Pick<View, "selected">, listed: readonly string[]): string | undefined {
  return view.selected !== undefined && listed.includes(view.selected) ? view.selected : listed[0];
}

const STOP = { do: "stop" } as const;

function confirmKey(view: View, action: Action, { name }: Key): KeyResult {
  const asked = { ...view, confirm: undefined };
  const isConfirmed = name === "y" || (name === "ctrl-c" && action.do === "stop");
  return isConfirmed ? { view: asked, action } : { view: asked };
}

function typeKey(view: View, { what, field }: NonNullable<View["typing"]>, key: Key): KeyResult {
  const text = field.text.trim();
  if (LEAVING.has(key.name)) {
    const left = what === "filter" ? { filter: "" } : { draft: field.text === "" ? view.draft : field.text };
    return { view: { ...view, ...left, typing: undefined } };
  }
  if (key.name === "return") {
    const ended = { ...view, typing: undefined };
    if (what === "filter" || text === "") return { view: ended };
    const ticket_id = view.page === "ticket" ? view.selected : undefined;
    return { view: ended, action: { do: "tell", ticket_id, text } };
  }
  const typed = key.name === "up" && field.text === "" ? fieldOf(view.draft) : editField(field, key);
  const filter = what === "filter" && typed.text !== field.text ? { filter: typed.text, selected: undefined } : {};
  return { view: { ...view, ...filter, typing: { what, field: typed } } };
}

/** Navigates. Returns undefined if the key is for something else. */
function moveKey(view: View, { name }: Key, { listed, rows }: KeyContext): KeyResult | undefined {
  const selected = selectedOf(view, listed);
  const isScrolled = view.page === "ticket";
  const by = STEPS[name]?.(rows);
  if (by !== undefined) {
    if (isScrolled) return { view: { ...view, scroll: Math.max(0, view.scroll - by) } };
    const place = selected === undefined ? 0 : listed.indexOf(selected);
    return { view: { ...view, selected: listed[Math.max(0, Math.min(listed.length - 1, place + by))] } };
  }
  switch (name) {
    case "return":
    case "l":
      return selected === undefined || isScrolled
        ? { view }
        : { view: { ...view, page: "ticket", selected, scroll: 0 } };
    case "escape":
    case "left":
      if (view.page === "list" && view.filter !== "") return { view: { ...view, filter: "" } };
      return { view: { ...view, page: "list", scroll: 0 } };
    case "home":
      return { view: isScrolled ? { ...view, scroll: Number.MAX_SAFE_INTEGER } : { ...view, selected: listed[0] } };
    case "end":
    case "G":
      return { view: isScrolled ? { ...view, scroll: 0 } : { ...view, selected: listed.at(-1) } };
    case "g":
      return { view: { ...view, page: view.page === "graph" ? "list" : "graph" } };
    case "?":
      return { view: { ...view, page: view.page === "help" ? "list" : "help" } };
    case "/":
      return { view: { ...view, page: "list", typing: { what: "filter", field: fieldOf(view.filter) } } };
  }
  return undefined;
}

/** How many rows each movement key moves by, given the page size. */
export const STEPS: Readonly<Record<string, (rows: number) => number>> = {
  up: () => -1,
  k: () => -1,
  down: () => 1,
  j: () => 1,
  pageup: (rows) => -rows,
  pagedown: (rows) => rows,
};

function steerKey(
  view: View,
  { name }: Key,
  { listed, paused, steers, diffs, merges, retries, cancels }: KeyContext,
): KeyResult {
  if (name === "q") return { view, action: { do: "leave" } };
  if (!steers) return { view };
  const beside = BESIDE[name];
  if (beside === "diff" && !diffs) return { view };
  const ticket_id = selectedOf(view, listed);
  const isAboutTicket = view.page === "ticket" || beside === "diff";
  if (beside) return { view, action: { do: beside, ticket_id: isAboutTicket ? ticket_id : undefined } };
  switch (name) {
    case "a":
      return { view, action: { do: "answer" } };
    case "p":
      return { view, action: { do: paused ? "resume" : "pause" } };
    case "M":
      return merges ? { view: { ...view, confirm: { do: "merge" } } } : { view };
    case "m":
    case "t":
      return { view: { ...view, typing: { what: "tell", field: fieldOf() } } };
    case "r":
      return ticket_id === undefined || !retries ? { view } : { view, action: { do: "retry", ticket_id } };
    case "x":
      return ticket_id === undefined || !cancels
        ? { view }
        : { view: { ...view, confirm: { do: "cancel", ticket_id } } };
    default:
      return { view };
  }
}
