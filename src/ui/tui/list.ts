import { columnsOf, type SubjectColumn } from "../subject-columns.ts";
import { blockersOf, listed, type TicketModel, ticketsByNeed } from "../model/model.ts";
import { isLost, statusesOf } from "../../kernel/presentation.ts";
import { elided, widthOf } from "../../lib/text-layout.ts";
import { clipped, safeLine } from "../display.ts";
import { mergingWords } from "../merging.ts";
import { statusWords, styledStatus } from "../status.ts";
import { localTime } from "../timeline.ts";
import { cell, cellRight, type Line, rule, trusted, untrusted } from "./line.ts";
import type { Shown } from "./scene.ts";
import type { View } from "./view.ts";

/** Column widths; the title takes the rest. */
const ID_WIDEST = 18;
const ID_WIDEST_NARROW = 12;

/** Narrower lists omit the columns between state and title. */
const WIDE = 72;
const ROOMY = 100;
const ID_LEAST = 4;
const STATE = 15;
/** Before the reason why it failed. */
const TITLE = 24;

/** The tickets that match the filter, those that need a person first. */
export function ticketsOf(
  { model, presentation }: Pick<Shown, "model" | "presentation">,
  { filter }: Pick<View, "filter">,
): readonly TicketModel[] {
  const tickets = ticketsByNeed(model, presentation);
  const words = filter.trim().toLowerCase();
  if (words === "") return tickets;
  return tickets.filter(({ id, title, owner = "", status }) =>
    [id, title, owner, status, statusWords(status)].some((text) => text.toLowerCase().includes(words)),
  );
}

export interface TicketList {
  readonly tickets: readonly TicketModel[];
  readonly selected: string | undefined;
  readonly filter: string;
}

/** The heading and the rows around the selected ticket. Tickets that do not fit are counted on a last line. */
export function listLines(
  scene: Shown,
  { tickets, selected, filter }: TicketList,
  columns: number,
  rows: number,
): Line[] {
  if (tickets.length === 0) return padded([emptyLine(scene, filter)], rows);
  const place = tickets.findIndex(({ id }) => id === selected);
  const space = rows - 1;
  const isCut = tickets.length > space;
  const shown = isCut ? space - 1 : space;
  const first = Math.max(0, Math.min(place - Math.floor(shown / 2), tickets.length - shown));
  const window = tickets.slice(first, first + shown);
  const id = Math.min(
    columns < ROOMY ? ID_WIDEST_NARROW : ID_WIDEST,
    Math.max(ID_LEAST, presentationWidth(scene), ...window.map((ticket) => widthOf(safeLine(ticket.id)))),
  );
  const lines = [
    heading(scene, id, columns),
    ...window.map((ticket) => row(scene, ticket, ticket.id === selected, id, columns)),
  ];
  if (isCut) lines.push([trusted(`   ${restWords(scene, tickets, first, shown)}`, "dim")]);
  return padded(lines, rows);
}

/** The latest events, below a rule. */
export function eventLines({ events }: Shown, columns: number, rows: number): Line[] {
  if (rows < 2) return padded([], rows);
  const shown = events.slice(-(rows - 1)).map(({ at, ticket, text, style }): Line => {
    const about = ticket === undefined ? "" : `${elided(safeLine(ticket), ID_WIDEST, "middle")} `;
    return [trusted(` ${localTime(new Date(at)).slice(0, 8)} `, "dim"), trusted(about), untrusted(text, style)];
  });
  return padded([rule(columns, "events"), ...shown], rows);
}

export function padded(lines: readonly Line[], rows: number): Line[] {
  return Array.from({ length: Math.max(0, rows) }, (_, index) => lines[index] ?? []);
}

function emptyLine({ model, presentation }: Shown, filter: string): Line {
  if (filter !== "") return [trusted(`   nothing matches "${safeLine(filter)}"; Esc shows all`, "dim")];
  const [turn] = model.turns.values();
  const none = `no ${presentation?.subjectName ?? "ticket"} yet`;
  const doing = turn === undefined ? none : `${none}: ${safeLine(turn.role_id)} is at work`;
  return [trusted(`   ${doing}`, "dim")];
}

function presentationWidth({ presentation }: Shown): number {
  return presentation?.subjectName.length ?? 0;
}

function heading(scene: Shown, id: number, columns: number): Line {
  const { subjectName = "id", statementName = "title" } = scene.presentation ?? {};
  const wide = wideCells(scene, columns, ({ heading: text }) => text.toUpperCase());
  const words = `   ${cell(subjectName.toUpperCase(), id)}  ${cell("STATE", STATE)}${wide}  ${statementName.toUpperCase()}`;
  return [trusted(words, "dim")];
}

function row(scene: Shown, ticket: TicketModel, isSelected: boolean, id: number, columns: number): Line {
  const { icon, style, stage } = styledStatus(scene.presentation, ticket.status);
  const asks = [...scene.model.asks.values()].some(({ subject }) => subject === ticket.id);
  const subject = listed(ticket);
  const why = whyThere(scene, ticket);
  const line: Line = [
    trusted(isSelected ? "▸" : " "),
    asks ? trusted("?", "yellow") : trusted(icon, style),
    trusted(` ${cell(elided(safeLine(ticket.id), id, "middle"), id)}  `, isSelected ? "bold" : undefined),
    trusted(cell(safeLine(statusWords(ticket.status, stage === "done" ? ticket.reason : undefined)), STATE), style),
    // Why it is there needs the room.
    trusted(
      `${why !== undefined && columns < ROOMY ? "" : wideCells(scene, columns, (column) => safeLine(column.cell(subject)))}  `,
    ),
    untrusted(
      why === undefined ? what(scene, ticket) : `${clipped(ticket.title, TITLE)}: ${why}`,
      stage === "done" ? "dim" : undefined,
    ),
  ];
  return isSelected
    ? line.map((one) => ({ ...one, style: one.style === "dim" ? undefined : (one.style ?? "bold") }))
    : line;
}

/** The columns between state and title. Narrow screens omit them. */
function wideCells({ presentation, now }: Shown, columns: number, textOf: (column: SubjectColumn) => string): string {
  if (columns < WIDE) return "";
  return columnsOf({ name: "dashboard", presentation, now })
    .map((column) => `  ${(column.align === "right" ? cellRight : cell)(textOf(column), column.narrow ?? 0)}`)
    .join("");
}

/** Why a ticket is blocked, has failed or is worked on again, or how far its merge is. */
function whyThere({ model, presentation }: Shown, ticket: TicketModel): string | undefined {
  const { status, reason, cause } = ticket;
  if (isLost(presentation, status)) return cause?.words ?? reason?.replaceAll("_", " ");
  return ticket.progress === undefined ? mergingWords(model, ticket, () => cause) : undefined;
}

/** The title, with what the ticket waits for, or its progress. */
function what({ model, presentation }: Shown, ticket: TicketModel): string {
  const { title, progress } = ticket;
  const blockers = blockersOf(model, presentation, ticket);
  if (blockers.length > 0) return `${title} (waits for ${blockers.join(", ")})`;
  return progress === undefined ? title : `${title} · ${progress}`;
}

function restWords({ presentation }: Shown, tickets: readonly TicketModel[], first: number, shown: number): string {
  const over = new Set(statusesOf(presentation, "done"));
  const done = tickets.filter(({ status }, at) => (at < first || at >= first + shown) && over.has(status)).length;
  const others = tickets.length - shown - done;
  return [...(others > 0 ? [`${others} more`] : []), ...(done > 0 ? [`${done} done`] : [])].join(", ");
}
