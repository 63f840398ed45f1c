import { DATA_ID, type PageData, type PageList, type PageRow } from "../page-data.ts";
import { type Detail, showDetail } from "./detail.ts";
import { byId, dataOf, make } from "./dom.ts";
import { Envelopes } from "./envelopes.ts";
import { Keyboard } from "./keyboard.ts";
import { List, type ListSource } from "./list.ts";
import { overview, proofOf } from "./overview.ts";

/** Debounce of the search, in ms. */
const PAUSE_MS = 80;

const data = dataOf(DATA_ID) as PageData | undefined;
if (data !== undefined) show(data);

function show(page: PageData): void {
  byId("overview").append(...overview(page));
  byId("proof").append(...proofOf(page.proof));
  const search = byId("search") as HTMLInputElement;
  const chosen = (list: List) => keyboard.turnTo(list);
  const lists = page.lists.map((list) => new List(list.id, rowsOf(list, showDetail), chosen));
  const envelopes = new List("envelopes", new Envelopes(page, showDetail), chosen);
  const all = [...lists, envelopes];
  const keyboard = new Keyboard(all, search, turnTheme);
  const [tickets] = lists;
  byId("lists").append(...all.map(({ section }) => section));
  // The tickets (what was done) come before the timeline (when it was done).
  if (tickets) byId("proof").after(tickets.section);
  byId("contents").append(...Array.from(document.querySelectorAll("section"), linkTo));
  byId("theme").addEventListener("click", turnTheme);
  searchIn(all, search);
  openTickets(tickets);
}

function rowsOf({ title, empty, columns, rows }: PageList, open: (detail: Detail) => void): ListSource {
  const textOf = ({ cells, details }: PageRow) =>
    [...cells, ...details.map(([, text]) => text)].join(" ").toLowerCase();
  return {
    title,
    empty,
    columns,
    length: rows.length,
    cells: (index) => rows[index]?.cells ?? [],
    tone: (index) => rows[index]?.tone ?? "",
    haystack: (index) => (rows[index] === undefined ? "" : textOf(rows[index])),
    open: (index) => open({ title: rows[index]?.cells[0] ?? "", details: rows[index]?.details ?? [] }),
  };
}

function linkTo(section: Element): HTMLElement {
  const link = make("a", "", section.querySelector("h2")?.firstChild?.textContent ?? "Overview");
  link.href = `#${section.id}`;
  return link;
}

function searchIn(lists: readonly List[], search: HTMLInputElement): void {
  let waiting: number | undefined;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const list of lists) list.search(words);
    }, PAUSE_MS);
  });
}

/** Makes tickets in a drawing open like their rows. */
function openTickets(tickets: List | undefined): void {
  for (const id of ["timeline", "graph"]) {
    document.getElementById(id)?.addEventListener("click", (event) => {
      const place = (event.target as Element).closest("[data-ticket]")?.getAttribute("data-ticket");
      if (place === null || place === undefined || tickets === undefined) return;
      tickets.select(Number(place));
      tickets.openSelected();
    });
  }
}

/** Without a choice, the page follows the system's theme. */
function turnTheme(): void {
  const { dataset } = document.documentElement;
  const isDark = dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  dataset.theme = isDark === "dark" ? "light" : "dark";
}
