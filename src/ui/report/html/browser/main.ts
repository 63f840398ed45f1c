import type { ResultPart } from "../../../../kernel/presentation.ts";
import { DATA_ID, type PageData, type PageProof } from "../page-data.ts";
import { byId, make } from "./dom.ts";
import { listenToKeys } from "./keyboard.ts";
import { List } from "./list.ts";

/** Debounce of the search, in ms. */
const PAUSE_MS = 80;

show(JSON.parse(byId(DATA_ID).textContent) as PageData);

function show(page: PageData): void {
  byId("overview").append(...overview(page));
  byId("proof").append(...proofOf(page.proof));
  const search = byId("search") as HTMLInputElement;
  const lists = page.lists.map((list) => new List(list, (chosen) => turnTo(chosen)));
  const turnTo = listenToKeys(lists, search, turnTheme);
  const [tickets] = lists;
  byId("lists").append(...lists.map(({ section }) => section));
  // The tickets (what was done) come before the timeline (when it was done).
  if (tickets) byId("proof").after(tickets.section);
  byId("contents").append(...Array.from(document.querySelectorAll("section"), linkTo));
  byId("theme").addEventListener("click", turnTheme);
  searchIn(lists, search);
  openTickets(tickets);
}

/** The header of the page: what was wanted, how it ended, and the figures. */
function overview({ title, session_id, outcome, tone, facts, parts }: PageData): HTMLElement[] {
  const figures = make("dl", "facts");
  for (const [label, text] of facts) figures.append(make("div", "", make("dt", "", label), make("dd", "", text)));
  const named = make("p", "named", make("span", `badge ${tone}`, outcome), " ", make("code", "", session_id));
  return [make("h1", "", title), named, figures, ...parts.map(partOf)];
}

function partOf({ title, text, points }: ResultPart): HTMLElement {
  const list = make("ul", "", ...points.map((point) => make("li", "", point)));
  return make("article", "", make("h3", "", title), make("p", "", text), ...(points.length > 0 ? [list] : []));
}

function proofOf({ tone, word, lines, problems }: PageProof): HTMLElement[] {
  const table = make("dl", "proof");
  for (const [tone, name, text] of lines) table.append(make("dt", tone, name), make("dd", "", text));
  const list = make("ul", "problems", ...problems.map((problem) => make("li", "", problem)));
  return [
    make("h2", "", "Verification ", make("span", `badge ${tone}`, word)),
    table,
    ...(problems.length > 0 ? [list] : []),
  ];
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
