import { isLost, isOver, statusesOf } from "../../kernel/presentation.ts";
import { elided, widthOf } from "../../lib/text-layout.ts";
import { costFigure } from "../../log/usage-words.ts";
import { spentOf } from "../../runtime/usage.ts";
import { safeLine } from "../display.ts";
import { type Field, fieldParts } from "../keyboard/field.ts";
import { askText, countOf, type SessionModel, stateOf } from "../model/model.ts";
import { statusWords, styledStatus } from "../status.ts";
import { counted } from "../words.ts";
import { graphLines, graphOrder } from "./graph.ts";
import { beside, fitted, justified, type Line, rule, trusted, untrusted, widthOfLine } from "./line.ts";
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
  const { model, answer, steers } = scene;
  const asked = askWords(model);
  if (asked === undefined) return troubleLine(scene, retries(scene) && model.closed === undefined);
  const how = steers ? "[a] answer" : answer;
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

function retries({ steers, presentation }: Scene): boolean {
  return steers && presentation?.retries === true;
}

/** Whether `r` and `x` can do something to a ticket. */
export function keysFor(scene: Scene, id: string | undefined): { retries: boolean; cancels: boolean } {
  const ticket = scene.model.subjects.get(id ?? "");
  if (ticket === undefined) return { retries: false, cancels: false };
  return {
    retries: retries(scene) && (isLost(scene.presentation, ticket.status) || ticket.reason !== undefined),
    cancels: !isOver(scene.presentation, ticket.status),
  };
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

function footLine(scene: Scene, view: View, columns: number): Line {
  const { page, selected, typing, confirm, filter } = view;
  if (confirm) return confirmLine(confirm, scene.model.turns.size, columns);
  if (typing) {
    const whom =
      page === "ticket" ? elided(safeLine(selected ?? ""), Math.floor(columns / 4), "middle") : "the session";
    const hints = typing.field.text === "" && view.draft !== "" ? ["↑ last text"] : [];
    return typingLine(typing.what === "filter" ? "filter" : `tell ${whom}`, typing.field, columns, hints);
  }
  if (scene.notice !== undefined) return [trusted(" "), untrusted(scene.notice, "yellow")];
  const only = filter === "" || page !== "list" ? [] : [trusted(` filter "${safeLine(filter)}" `, "yellow")];
  const { steers, detaches, ctrl_c } = scene;
  const leaving = [...(detaches ? ["q detach"] : []), `^C ${ctrl_c === "stops" ? "stop" : "detach"}`];
  const can = selected === undefined ? { retries: retries(scene), cancels: true } : keysFor(scene, selected);
  const steering = steers
    ? [
        "m tell",
        `p ${scene.model.state === "paused" ? "go on" : "pause"}`,
        ...(can.retries ? ["r retry"] : []),
        ...(can.cancels ? ["x cancel"] : []),
      ]
    : [];
  const keys = {
    list: ["⏎ open", ...(steers ? ["a answer"] : []), "g graph", "/ filter", "? help", ...leaving, ...steering],
    ticket: ["↑↓ scroll", "G follow", ...(steers ? ["a answer"] : []), "Esc back", ...leaving, ...steering],
    graph: ["↑↓ select", "⏎ open", "Esc back", ...leaving],
    help: ["Esc back", ...leaving],
  }[page];
  return [...only, trusted(` ${fitting(keys, columns - widthOfLine(only) - 1)}`, "dim")];
}

/** The last row while a text is typed: what fits around the cursor. */
export function typingLine(what: string, field: Field, columns: number, hints: readonly string[] = []): Line {
  const [begin, keys] = [` ${what}: `, `   ${["⏎ ok", "Esc back", ...hints].join("  ")}`];
  const [before, after] = fieldParts(field, columns - widthOf(begin) - widthOf(keys) - 1);
  const mark = { ...trusted("▏"), isCursor: true };
  return [trusted(begin, "bold"), trusted(before), mark, trusted(after), trusted(keys, "dim")];
}

/** Joins as many of the first words as fit, without cutting any. */
export function fitting(words: readonly string[], columns: number): string {
  let text = "";
  for (const word of words) {
    const longer = text === "" ? word : `${text}  ${word}`;
    if (widthOf(longer) > columns) break;
    text = longer;
  }
  return text;
}

/** The question. What it is about is cut, but never the keys. */
function confirmLine(action: NonNullable<View["confirm"]>, turns: number, columns: number): Line {
  const [begin, keys] = [` ${action.do}`, `? ${action.do === "stop" ? "^C" : "y"} yes, any other key no`];
  const id = "ticket_id" in action && action.ticket_id !== undefined ? ` ${safeLine(action.ticket_id)}` : "";
  const about = action.do === "stop" ? ` and cut off ${counted(turns, "turn")}` : id;
  return [trusted(begin + elided(about, columns - widthOf(begin + keys), "middle") + keys, "yellow")];
}

/** The keys of a help page, with what they do. */
export function keyLines(keys: readonly (readonly [key: string, text: string])[]): Line[] {
  const width = Math.max(...keys.map(([key]) => key.length)) + 2;
  return keys.map(([key, text]) => [trusted(` ${key.padEnd(width)}`, "bold"), trusted(text)]);
}

function helpLines(scene: Scene): Line[] {
  const { steers, detaches, ctrl_c } = scene;
  const noun = scene.presentation?.subjectName ?? "ticket";
  const keys: (readonly [string, string])[] = [
    ["↑ ↓ j k", `select a ${noun}, or scroll its page`],
    ["PgUp PgDn Home End", "move by a page, or to an end"],
    ["⏎ l", `open the ${noun}: its facts, history and live output`],
    ["Esc ←", "back"],
    ["g", "the dependency graph"],
    ["/", `only ${noun}s with this text in id, title, owner or state`],
    ...(steers
      ? ([
          ["a", "answer what waits for you, on the normal screen"],
          ["m", `tell the agents of the open ${noun}, or of the session`],
          ["p", "pause, or go on"],
          ...(retries(scene) ? ([["r", `try the selected ${noun} again`]] as const) : []),
          ["x", `cancel the selected ${noun}`],
          [
            scene.diffs ? "R L d" : "R L",
            `report, log${scene.diffs ? ", changes in git" : ""}; the log of the open ${noun}`,
          ],
          ["e", `the folder of the open ${noun}, or the plan, in $EDITOR`],
          ["n", "the next running session, of any repository"],
        ] as const)
      : []),
    ...(detaches ? ([["q", "detach: the session goes on"]] as const) : []),
    ["Ctrl-C", ctrl_c === "stops" ? "stop the session; bosun resume goes on with it" : "detach: the session goes on"],
    ["Ctrl-Z", "suspend; fg resumes"],
  ];
  return [
    ...keyLines(keys),
    [],
    [trusted(" "), ...statusesOf(scene.presentation).map((status) => legend(scene, status))],
    [trusted(" The agents' work does not depend on this screen: it may lag, suspend or close.", "dim")],
  ];
}

function legend({ presentation }: Scene, status: string): Line[number] {
  const { icon, style } = styledStatus(presentation, status);
  return trusted(`${icon} ${statusWords(status)}  `, style);
}

/** The screen for a terminal that is too small. */
export function tooSmall(columns: number, rows: number): Line[] {
  const text = `Needs ${MIN_SIZE.columns}×${MIN_SIZE.rows}, has ${columns}×${rows}.`;
  return padded([[trusted(text)]], rows).map((line) => fitted(line, columns));
}
