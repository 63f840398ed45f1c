import { defined } from "../../../lib/json.ts";
import { columnsOf, stateOf } from "../../subject-columns.ts";
import { type ArtifactModel, listed, type ReviewModel, type TicketModel } from "../../model/model.ts";
import { momentOf, roleCells, spendWordsOf, subjectNameOf, ticketList, ticketsOf, toneOf } from "../figures.ts";
import { formatDuration } from "../../../lib/durations.ts";
import type { Asked } from "../asked.ts";
import { cutText } from "../envelopes.ts";
import type { CheckRun, SessionReport } from "../report-model.ts";
import type { TurnSpan } from "../turn-spans.ts";
import type { PageDetail, PageList, PageRow } from "./page-data.ts";

/** Maximum length of a check's output, in characters. */
const LONGEST_OUTPUT = 4_000;

/** Maximum length of any other text, in characters. */
const LONGEST_TEXT = 1_000;

/** The lists of the page except the envelopes. The tickets come first, because the drawings refer to their rows. */
export function listsOf(report: SessionReport): PageList[] {
  const reviews = [...report.session.subjects.values()].flatMap(({ id, reviews }) =>
    reviews.map((review) => ({ id, review })),
  );
  const artifacts = [...report.session.subjects.values()].flatMap(({ id, artifacts }) =>
    artifacts.map((artifact) => ({ id, artifact })),
  );
  return [
    ticketSection(report),
    roleList(report),
    {
      id: "asked",
      title: "Asked and answered",
      empty: "No question, plan or permission was put to a person.",
      columns: [
        { heading: "asked", width: 20 },
        { heading: "about", width: 18 },
        { heading: "what" },
        { heading: "answer", toned: true },
      ],
      rows: report.asked.map(askedRow),
    },
    {
      id: "reviews",
      title: "Reviews",
      empty: "Nothing was reviewed.",
      columns: [
        { heading: "ticket", width: 18 },
        { heading: "by", width: 14 },
        { heading: "decision", width: 18, toned: true },
        { heading: "why" },
      ],
      rows: reviews
        .sort((a, b) => a.review.sequence - b.review.sequence)
        .map(({ id, review }) => reviewRow(id, review)),
    },
    {
      id: "checks",
      title: "Checks",
      empty: "No checks were run.",
      columns: [
        { heading: "ticket", width: 18 },
        { heading: "result", width: 7, toned: true },
        { heading: "exit", width: 5, align: "right" },
        { heading: "took", width: 8, align: "right" },
        { heading: "criterion" },
        { heading: "output" },
      ],
      rows: report.checks.map(checkRow),
    },
    {
      id: "artifacts",
      title: "Artifacts",
      empty: "No files were kept.",
      columns: [
        { heading: "ticket", width: 18 },
        { heading: "bytes", width: 11, align: "right" },
        { heading: "label" },
        { heading: "where" },
      ],
      rows: artifacts.map(({ id, artifact }) => artifactRow(id, artifact)),
    },
  ];
}

function ticketSection(report: SessionReport): PageList {
  const subjectName = subjectNameOf(report);
  const columns = columnsOf(ticketList(report).list);
  const tickets = ticketsOf(report);
  const turns = Map.groupBy(report.turns, ({ ticket_id }) => ticket_id);
  const checks = Map.groupBy(report.checks, ({ ticket_id }) => ticket_id);
  return {
    id: "tickets",
    title: `${subjectName.charAt(0).toUpperCase()}${subjectName.slice(1)}s`,
    empty: `There is no ${subjectName} yet.`,
    columns: columns.map(({ heading, width, align, toned }) => ({ heading, ...defined({ width, align, toned }) })),
    rows: tickets.map((ticket) => ({
      cells: columns.map(({ cell }) => cell(listed(ticket))),
      tone: toneOf(report, ticket.status),
      details: known([
        ...aboutTicket(report, ticket),
        ["turns", (turns.get(ticket.id) ?? []).map(turnLine).join("\n"), "code"],
        ["checks", (checks.get(ticket.id) ?? []).map(checkLine).join("\n"), "code"],
      ]),
    })),
  };
}

function aboutTicket({ work }: SessionReport, ticket: TicketModel): PageDetail[] {
  const done = work.get(ticket.id);
  const { failure } = ticket;
  return [
    ["what", ticket.title],
    ["state", stateOf(ticket)],
    ["depends on", ticket.depends_on.join(", ")],
    ["used", spendWordsOf(ticket.spend)],
    ["it says", done?.summary ?? ticket.progress ?? ""],
    ["outputs", done?.outputs.join("\n") ?? ""],
    ["issues", done?.issues.join("\n") ?? ""],
    ["artifacts", ticket.artifacts.map(({ label, uri }) => `${label}: ${uri}`).join("\n")],
    ["last failure", failure === undefined ? "" : `${failure.code}: ${failure.message}`],
    ["reviews", ticket.reviews.map(({ decision, by, text }) => `${decision} by ${by}: ${text}`).join("\n")],
    [
      "states",
      ticket.moves.map(({ sequence, at, to, reason }) => moveLine(sequence, at, to, reason)).join("\n"),
      "code",
    ],
  ];
}

function moveLine(sequence: number, at: string, to: string, reason: string | undefined): string {
  return `${momentOf(at)}  ${to}${reason === undefined ? "" : ` (${reason})`}  #${sequence}`;
}

function turnLine({ turn_id, run, role_id, from, to, failed }: TurnSpan): string {
  const took = to === undefined ? "open" : formatDuration(Date.parse(to) - Date.parse(from));
  return `${momentOf(from)}  ${role_id}  ${took}  ${turn_id}.${run}${failed === undefined ? "" : `  ${failed}`}`;
}

function checkLine({ passed, criterion, sequence }: CheckRun): string {
  return `${passed ? "passed" : "FAILED"}  ${criterion}  #${sequence}`;
}

function roleList({ session }: SessionReport): PageList {
  const roles = [...session.roles.values()];
  return {
    id: "roles",
    title: "Cost and tokens by role",
    empty: "There are no roles.",
    columns: [
      { heading: "role", width: 20 },
      { heading: "type", width: 12 },
      { heading: "backend", width: 12 },
      { heading: "turns", width: 8, align: "right" },
      { heading: "tokens in", width: 12, align: "right" },
      { heading: "tokens out", width: 12, align: "right" },
      { heading: "cost" },
    ],
    rows: roles.map((role) => ({
      cells: roleCells(role).toSpliced(2, 0, role.backend),
      tone: "plain",
      details: [["used", spendWordsOf(role.spend)]],
    })),
  };
}

function askedRow({ at, kind, ticket_id, text, why, options, answer }: Asked): PageRow {
  const isCommand = kind === "command";
  const answered =
    answer === undefined ? "not answered" : isCommand ? `by ${answer.by}` : `${answer.text} (${answer.by})`;
  return {
    cells: [momentOf(at), ticket_id ?? kind, text, answered],
    tone: answer === undefined ? "warn" : "plain",
    details: known([
      [isCommand ? "told" : "asked", text],
      ["why", why],
      ["options", options.join("\n")],
      ["answer", answered],
    ]),
  };
}

function reviewRow(ticket_id: string, { decision, by, text, sequence }: ReviewModel): PageRow {
  return {
    cells: [ticket_id, by, decision, text],
    tone: decision === "approved" ? "good" : "warn",
    details: known([
      ["decision", `${decision} by ${by}`],
      ["why", text],
      ["record", `#${sequence}`],
    ]),
  };
}

function checkRow({ ticket_id, passed, exit_code, duration_ms, criterion, output, sequence }: CheckRun): PageRow {
  const took = duration_ms === undefined ? "-" : formatDuration(duration_ms);
  const first = output.split("\n", 1)[0] ?? "";
  return {
    cells: [ticket_id ?? "-", passed ? "passed" : "failed", String(exit_code ?? "-"), took, criterion, first],
    tone: passed ? "good" : "bad",
    details: known([
      ["criterion", criterion],
      ["result", `${passed ? "passed" : "failed"}, exit code ${exit_code ?? "unknown"}, record #${sequence}`],
      ["output", cutText(output, LONGEST_OUTPUT), "code"],
    ]),
  };
}

function artifactRow(ticket_id: string, { label, uri, size_bytes, sequence }: ArtifactModel): PageRow {
  return {
    cells: [ticket_id, size_bytes?.toLocaleString("en") ?? "-", label, uri],
    tone: "plain",
    details: [
      ["label", label],
      ["path below the home", uri],
      ["record", `#${sequence}`],
    ],
  };
}

/** Drops details without text, and cuts long ones. */
function known(details: readonly PageDetail[]): PageDetail[] {
  return details.flatMap(([label, text, style]): PageDetail[] => {
    if (text.trim() === "") return [];
    const cut = cutText(text, style === "code" ? LONGEST_OUTPUT : LONGEST_TEXT);
    return [style === undefined ? [label, cut] : [label, cut, style]];
  });
}
