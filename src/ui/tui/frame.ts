import { statusesOf } from "../../kernel/presentation.ts";
import { costFigure } from "../../log/usage-words.ts";
import { spentOf } from "../../runtime/usage.ts";
import { safeLine } from "../display.ts";
import { askText, countOf, type SessionModel, stateOf } from "../model/model.ts";
import { statusWords, styledStatus } from "../status.ts";
import { counted } from "../words.ts";
import { graphLines, graphOrder } from "./graph.ts";
import { footLine, helpLines, retries } from "./keys.ts";
import { beside, fitted, justified, type Line, rule, trusted, untrusted } from "./line.ts";
import { eventLines, listLines, padded, type TicketList, ticketsOf } from "./list.ts";
import { elapsed, MIN_SIZE, type Scene, type Shown } from "./scene.ts";
import { ticketLines } from "./ticket.ts";
import { selectedOf, type View } from "./view.ts";

/** Minimum number of columns to show the selected ticket beside the list. */
const BESIDE_COLUMNS = 120;
const PART_OF_LIST = 0.6;

/**
 * Renders the whole screen: `rows` lines, each exactly `columns` wide. Pure, so the same scene always looks the same. A terminal that is too
 * small gets a message that says so.
 */
export function dashboardFrame(scene: Scene, view: View, columns: number, rows: number): Line[] {
  if (isTooSmall(columns, rows)) return tooSmall(columns, rows);
  const head = [...headLines(scene, columns), needLine(scene), ...outageLines(scene), rule(columns)];
  const space = rows - head.length - 1;
  const body = view.page === "help" ? padded(helpLines(scene), space) : bodyLines(scene, view, columns, space);
  const lines = [...head, ...body, footLine(scene, view, columns)];
  return lines.slice(0, rows).map((line) => fitted(line, columns));
}

export function isTooSmall(columns: number, rows: number): boolean {
  return columns < MIN_SIZE.columns || rows < MIN_SIZE.rows;
}

/** The page size for scrolling: the rows of the body. */
export function pageRows(rows: number): number {
  return Math.max(1, rows - 6);
}

/** The ids that the selection moves through. */
export function selectable(scene: Shown, view: View): string[] {
  return view.page === "graph" ? graphOrder(scene.model) : ticketsOf(scene, view).map(({ id }) => id);
}

/** The list with the latest events, and on a wide screen a ticket beside it; or another page about the session. */
export function bodyLines(scene: Shown, view: View, columns: number, rows: number): Line[] {
  if (view.page === "graph") {
    return graphLines(scene, selectedOf(view, graphOrder(scene.model)), rows);
  }
  const tickets = ticketsOf(scene, view);
  const ticket = tickets.find(({ id }) => id === view.selected) ?? tickets[0];
  if (view.page === "ticket" && ticket) return ticketLines(scene, ticket, view.scroll, columns, rows);
  const list = { tickets, selected: ticket?.id, filter: view.filter };
  if (columns < BESIDE_COLUMNS || !ticket) return listAndEvents(scene, list, columns, rows);
  const left = Math.floor(columns * PART_OF_LIST);
  const right = ticketLines(scene, ticket, 0, columns - left - 2, rows);
  return beside(listAndEvents(scene, list, left, rows), right, left);
}

function listAndEvents(scene: Shown, list: TicketList, columns: number, rows: number): Line[] {
  const tickets = scene.model.subjects.size + 1;
  // Events take a third of the rows, or more if the list is short. Tickets take priority when rows are few.
  const events = rows < 8 ? 0 : Math.max(3, Math.min(Math.floor(rows / 3), 12), rows - Math.max(tickets, 6) - 1);
  return [...listLines(scene, list, columns, rows - events), ...eventLines(scene, columns, events)];
}

function headLines(scene: Shown, columns: number): Line[] {
  const { model, now } = scene;
  const { session_id, requirement, opened_at, at, closed, stopped, spend } = model;
  const until = closed || stopped ? Date.parse(at) : now;
  const time = opened_at === "" ? "" : elapsed(until - Date.parse(opened_at));
  const title: Line = [
    trusted(" bosun ", "bold"),
    trusted(`${safeLine(session_id)} `),
    untrusted(requirement === "" ? model.mode : `"${requirement}"`, "dim"),
  ];
  return [
    justified(title, [trusted(`${time}  ${costFigure(spentOf(spend))} `)], columns),
    progressLine(scene, columns),
  ];
}

/** The progress bar, with the number of tickets in each state, the session's state and its budget. */
export function progressLine({ model, presentation }: Pick<Shown, "model" | "presentation">, columns: number): Line {
  const { counts, subjects, turns, budget, spend, roles } = model;
  const all = subjects.size;
  const done = countOf(model, statusesOf(presentation, "done"));
  const width = Math.min(40, Math.floor(columns / 4));
  const share = (count: number) => (all === 0 ? 0 : Math.round((count / all) * width));
  const full = share(done);
  const begun = Math.min(width - full, share(countOf(model, statusesOf(presentation, "begun"))));
  const known = statusesOf(presentation);
  const statuses = [...new Set([...known, ...counts.keys()])];
  const figures = statuses.flatMap((status): Line => {
    const count = counts.get(status);
    const { icon, style, stage } = styledStatus(presentation, status);
    if (count === undefined || stage === "done") return [];
    return [trusted(known.includes(status) ? ` ${icon}${count}` : ` ${count} ${safeLine(status)}`, style)];
  });
  const workers = [...turns.values()].filter(({ role_id }) => roles.get(role_id)?.type !== "manager").length;
  return [
    trusted(" "),
    trusted("█".repeat(full), "green"),
    trusted("▓".repeat(begun), "cyan"),
    trusted("░".repeat(Math.max(0, width - full - begun)), "dim"),
    trusted(` ${done}/${all} `),
    ...figures,
    trusted(`   ${safeLine(stateOf(model))}`, "bold"),
    ...(budget.slots === undefined ? [] : [trusted(`   slots ${workers}/${budget.slots}`, "dim")]),
    trusted(budgetWords(budget, spend), "dim"),
  ];
}

function budgetWords({ usd, turns }: SessionModel["budget"], spend: SessionModel["spend"]): string {
  if (usd !== undefined) return `   budget ${costFigure(spentOf(spend))} of $${usd}`;
  return turns === undefined ? "" : `   turns ${spend.turns} of ${turns}`;
}

/** What needs a person. Always shown, so that nobody misses it. */
function needLine(scene: Scene): Line {
  const { model, answer, steers, merges } = scene;
  const asked = askWords(model);
  if (asked === undefined) return troubleLine(scene, retries(scene) && model.closed === undefined);
  const how = steers ? `[a] answer${merges ? "  [M] accept and merge" : ""}` : answer;
  return [trusted(" ? ", "yellow"), untrusted(how, "bold"), trusted("  "), untrusted(asked, "yellow")];
}

/** What is away. A session waits for it by itself. */
function outageLines({ outages }: Scene): Line[] {
  return outages.length === 0 ? [] : [[trusted(" ! ", "yellow"), untrusted(outages.join(" · "), "yellow")]];
}

/** The oldest open ask, and the number of the others; undefined if there is none. */
export function askWords(model: SessionModel): string | undefined {
  const [ask] = model.asks.values();
  if (ask === undefined) return undefined;
  const who = ask.subject === undefined ? "" : `${ask.subject} `;
  const kind = ask.kind === "questions" ? "asks: " : "";
  const more = model.asks.size === 1 ? "" : ` (and ${model.asks.size - 1} more)`;
  return `${who}${kind}${askText(model, ask)}${more}`;
}

function troubleLine({ model, presentation, steers }: Scene, canRetry: boolean): Line {
  const failed = statusesOf(presentation, "failed");
  const errors = countOf(model, failed);
  if (model.state === "paused") return [trusted(` paused${steers ? ": [p] goes on" : ""}`, "yellow")];
  if (errors === 0) return [trusted("   nothing needs you", "dim")];
  return [
    trusted(
      ` x ${counted(errors, presentation?.subjectName ?? "ticket")} ${failed.map((status) => statusWords(status)).join(" or ")}`,
      "red",
    ),
    trusted(canRetry ? "   [r] tries the selected one again" : "", "dim"),
  ];
}

export function tooSmall(columns: number, rows: number): Line[] {
  const text = `Needs ${MIN_SIZE.columns}×${MIN_SIZE.rows}, has ${columns}×${rows}.`;
  return padded([[trusted(text)]], rows).map((line) => fitted(line, columns));
}
