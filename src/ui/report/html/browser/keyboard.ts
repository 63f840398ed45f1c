import { showDetails } from "./detail.ts";
import { byId } from "./dom.ts";
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

/** Listens to the keyboard shortcuts of the page. They act on the list that had the focus last: the returned function turns to a list. */
export function listenToKeys(
  lists: readonly List[],
  search: HTMLInputElement,
  turnTheme: () => void,
): (list: List) => void {
  let at = 0;
  /** Handles a key; false if it has no meaning here. */
  const act = (key: string, target: EventTarget | null): boolean => {
    const list = lists[at];
    switch (key) {
      case "/":
        search.select();
        return true;
      case "Escape":
        search.value = "";
        search.dispatchEvent(new Event("input"));
        search.blur();
        return true;
      case "j":
      case "ArrowDown":
        return step(list, 1, key, target);
      case "k":
      case "ArrowUp":
        return step(list, -1, key, target);
      case "J":
      case "K":
        at = Math.max(0, Math.min(lists.length - 1, at + (key === "J" ? 1 : -1)));
        lists[at]?.focus();
        return true;
      case "Enter":
        // In the search field, it goes to the first list with a match.
        if (target === search) lists.find(({ length }) => length > 0)?.focus();
        else if (isList(target)) list?.openSelected();
        else return false;
        return true;
      case "t":
        turnTheme();
        return true;
      case "?":
        showDetails("Keys", KEYS);
        return true;
      default:
        return false;
    }
  };
  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || (byId("dialog") as HTMLDialogElement).open) return;
    if (target === search && key !== "Escape" && key !== "Enter") return;
    if (act(key, target)) event.preventDefault();
  });
  return (list) => (at = lists.indexOf(list));
}

/** Moves the selection of a list. The arrow keys scroll the page unless a list has the focus. */
function step(list: List | undefined, by: number, key: string, target: EventTarget | null): boolean {
  if (list === undefined || (key.startsWith("Arrow") && !isList(target))) return false;
  if (!isList(target)) list.focus();
  list.move(by);
  return true;
}

function isList(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.classList.contains("scroller");
}
