import { byId, make } from "./dom.ts";
import { openDialog } from "./detail.ts";
import type { List } from "./list.ts";

const KEYS: readonly (readonly [keys: string, what: string])[] = [
  ["/", "search everything"],
  ["j  k", "next and previous row of the list"],
  ["J  K", "next and previous list"],
  ["Enter", "open the row"],
  ["Esc", "close, or leave the search"],
  ["t", "light or dark"],
  ["?", "these keys"],
];

/** The keyboard shortcuts of the page. They act on the list that had the focus last. */
export class Keyboard {
  readonly #lists: readonly List[];
  readonly #search: HTMLInputElement;
  readonly #turnTheme: () => void;
  #at: number;

  constructor(lists: readonly List[], search: HTMLInputElement, turnTheme: () => void) {
    this.#lists = lists;
    this.#search = search;
    this.#turnTheme = turnTheme;
    this.#at = 0;
    document.addEventListener("keydown", (event) => this.#press(event));
  }

  turnTo(list: List): void {
    this.#at = this.#lists.indexOf(list);
  }

  #press(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || (byId("dialog") as HTMLDialogElement).open) return;
    const isTyping = event.target === this.#search;
    if (isTyping && event.key !== "Escape" && event.key !== "Enter") return;
    if (!this.#act(event.key, event.target)) return;
    event.preventDefault();
  }

  /** Handles a key; false if it has no meaning here. */
  #act(key: string, target: EventTarget | null): boolean {
    const list = this.#lists[this.#at];
    switch (key) {
      case "/":
        this.#search.select();
        return true;
      case "Escape":
        this.#leave();
        return true;
      case "j":
      case "ArrowDown":
        return this.#step(list, 1, key, target);
      case "k":
      case "ArrowUp":
        return this.#step(list, -1, key, target);
      case "J":
      case "K":
        return this.#turn(key === "J" ? 1 : -1);
      case "Enter":
        return this.#enter(list, target);
      case "t":
        this.#turnTheme();
        return true;
      case "?":
        showKeys();
        return true;
      default:
        return false;
    }
  }

  /** The arrow keys scroll the page unless a list has the focus. */
  #step(list: List | undefined, by: number, key: string, target: EventTarget | null): boolean {
    if (list === undefined || (key.startsWith("Arrow") && !isList(target))) return false;
    if (!isList(target)) list.focus();
    list.move(by);
    return true;
  }

  #turn(by: number): boolean {
    const at = this.#at + by;
    const list = this.#lists[at];
    if (list === undefined) return true;
    this.#at = at;
    list.focus();
    return true;
  }

  /** Enter in the search field goes to the first list with a match. */
  #enter(list: List | undefined, target: EventTarget | null): boolean {
    if (target === this.#search) {
      this.#lists.find(({ length }) => length > 0)?.focus();
      return true;
    }
    if (!isList(target) || list === undefined) return false;
    list.openSelected();
    return true;
  }

  #leave(): void {
    if (this.#search.value !== "") {
      this.#search.value = "";
      this.#search.dispatchEvent(new Event("input"));
    }
    this.#search.blur();
  }
}

function isList(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.classList.contains("scroller");
}

function showKeys(): void {
  const list = make("dl", "keys");
  for (const [keys, what] of KEYS) list.append(make("dt", "", keys), make("dd", "", what));
  openDialog("Keys", list);
}
