import { changeLines } from "../../kernel/changes.ts";
import { type Tone } from "../../kernel/presentation.ts";
import { formatDuration } from "../../lib/durations.ts";
import { defined } from "../../lib/json.ts";
import { countWords } from "../../log/usage-words.ts";
import { listed, type RoleModel, type TicketModel } from "../model/model.ts";
import { statusWords } from "../status.ts";
import { columnsOf, type ListColumn } from "../subject-columns.ts";
import type { Asked } from "./asked.ts";
import { cutText } from "./envelopes.ts";
import { costOf, momentOf, spendWordsOf, subjectNameOf, ticketsOf, toneOf } from "./figures.ts";
import type { PageDetail, PageList } from "./html/page-data.ts";
import type { CheckRun, SessionReport, TurnSpan } from "./report-model.ts";

/** Maximum length of a check's output or a payload, in characters. */
const LONGEST_OUTPUT = 9_000;

/** Maximum length of any other text, in characters. */
const LONGEST_TEXT = 1_000;

/** The lists of a report except the envelopes. The tickets come first, because the drawings of the page refer to their rows. */
export function listsOf(report: SessionReport): PageList[] {
  const tickets = [...report.session.subjects.values()];
  const reviews = tickets.flatMap(({ id, reviews }) => reviews.map((review) => ({ id, ...review })));
  const artifacts = tickets.flatMap(({ id, artifacts }) => artifacts.map((artifact) => ({ id, ...artifact })));
  return [
    subjectList(report),
    roleList(report),
    listOf({
      id: "asked",
      title: "Asked and answered",
      empty: "No question, plan or permission was put to a person.",
      entries: report.asked,
      columns: [
        { heading: "asked (UTC)", width: 20, cell: ({ at }) => momentOf(at) },
        { heading: "kind", width: 11, cell: ({ kind }) => kind },
        { heading: "about", width: 18, cell: ({ ticket_id = "-" }) => ticket_id },
        { heading: "what", cell: ({ text }) => text },
        { heading: "why", cell: ({ why }) => why },
        { heading: "answer", toned: true, cell: answerOf },
      ],
      tone: ({ answer }) => (answer === undefined ? "warn" : "plain"),
      more: ({ options }) => [["options", options.join("\n")]],
    }),
    listOf({
      id: "reviews",
      title: "Reviews",
      empty: "Nothing was reviewed.",
      entries: reviews.sort((a, b) => a.sequence - b.sequence),
      columns: [
        { heading: "ticket", width: 18, cell: ({ id }) => id },
        { heading: "by", width: 14, cell: ({ by }) => by },
        { heading: "decision", width: 18, toned: true, cell: ({ decision }) => decision },
        { heading: "why", cell: ({ text }) => text },
        RECORD,
      ],
      tone: ({ decision }) => (decision === "approved" ? "good" : "warn"),
    }),
    listOf({
      id: "checks",
      title: "Checks",
      empty: "No checks were run.",
      entries: report.checks,
      columns: [
        { heading: "ticket", width: 18, cell: ({ ticket_id = "-" }) => ticket_id },
        { heading: "result", width: 7, toned: true, cell: ({ passed }) => (passed ? "passed" : "failed") },
        { heading: "exit", width: 5, align: "right", cell: ({ exit_code = "-" }) => String(exit_code) },
        { heading: "took", width: 8, align: "right", cell: tookOf },
        { heading: "criterion", cell: ({ criterion }) => criterion },
        { heading: "output", cell: ({ output }) => output.split("\n", 1)[0] ?? "" },
        RECORD,
      ],
      tone: ({ passed }) => (passed ? "good" : "bad"),
      more: ({ output }) => [["output", output, "code"]],
    }),
    ...(report.notes.length === 0 ? [] : [noteList(report)]),
    listOf({
      id: "artifacts",
      title: "Artifacts",
      empty: "No files were kept.",
      entries: artifacts,
      columns: [
        { heading: "ticket", width: 18, cell: ({ id }) => id },
        {
          heading: "bytes",
          width: 11,
          align: "right",
          cell: ({ size_bytes }) => size_bytes?.toLocaleString("en") ?? "-",
        },
        { heading: "label", cell: ({ label }) => label },
        { heading: "path below the home", cell: ({ uri }) => uri },
        RECORD,
      ],
    }),
  ];
}

function noteList({ notes }: SessionReport): PageList {
  return listOf({
    id: "notes",
    title: "Notes of workers for each other",
    empty: "Nothing was noted.",
    entries: notes,
    columns: [
      { heading: "ticket", width: 18, cell: ({ ticket_id = "-" }) => ticket_id },
      { heading: "by", width: 14, cell: ({ role_id }) => role_id },
      { heading: "note", cell: ({ text }) => text },
      RECORD,
    ],
  });
}

/** The record that holds the entry. */
const RECORD: ListColumn<{ readonly sequence: number }> = {
  heading: "record",
  width: 8,
  align: "right",
  cell: ({ sequence }) => String(sequence),
};

interface ListParts<T> extends Pick<PageList, "id" | "title" | "empty"> {
  readonly entries: readonly T[];
  readonly columns: readonly ListColumn<T>[];
  readonly tone?: (entry: T) => Tone;
  readonly more?: (entry: T) => readonly PageDetail[];
}

function listOf<T>({ entries, columns, tone = () => "plain", more = () => [], ...names }: ListParts<T>): PageList {
  return {
    ...names,
    columns: columns.map(({ heading, width, align, toned }) => ({ heading, ...defined({ width, align, toned }) })),
    rows: entries.map((entry) => ({
      cells: columns.map(({ cell }) => cell(entry)),
      tone: tone(entry),
      more: known(more(entry)),
    })),
  };
}

/** Drops details without text, and cuts long ones. */
function known(details: readonly PageDetail[]): PageDetail[] {
  return details.flatMap(([label, text, ...style]): PageDetail[] => {
    if (text.trim() === "") return [];
    return [[label, cutText(text, style[0] === "code" ? LONGEST_OUTPUT : LONGEST_TEXT), ...style]];
  });
}

export function envelopeList({ envelopes }: SessionReport): PageList {
  return listOf({
    id: "envelopes",
    title: "Envelopes",
    empty: "There are no records.",
    entries: envelopes,
    columns: [
      { heading: "record", width: 7, align: "right", cell: ({ sequence }) => `#${sequence}` },
      { heading: "time (UTC)", width: 13, cell: ({ at }) => at.slice(11, 23) },
      { heading: "from → to", width: 24, cell: ({ source, target }) => `${source} → ${target}` },
      { heading: "type", width: 23, cell: ({ payload_type }) => payload_type },
      { heading: "ticket", width: 18, cell: ({ ticket_id = "-" }) => ticket_id },
      {
        heading: "what",
        cell: ({ disposition, line }) => (disposition === "applied" ? line : `${disposition}: ${line}`),
      },
    ],
    tone: ({ disposition }) => (disposition === "applied" ? "plain" : "quiet"),
    more: ({ at, payload }) => [
      ["time (UTC)", at],
      ["payload", payload, "code"],
    ],
  });
}

function subjectList(report: SessionReport): PageList {
  const name = subjectNameOf(report);
  const turns = Map.groupBy(report.turns, ({ ticket_id }) => ticket_id);
  const checks = Map.groupBy(report.checks, ({ ticket_id }) => ticket_id);
  return listOf({
    id: "tickets",
    title: `${name.charAt(0).toUpperCase()}${name.slice(1)}s`,
    empty: `There is no ${name} yet.`,
    entries: ticketsOf(report).map(listed),
    columns: columnsOf({ name: "report", presentation: report.presentation, now: Date.parse(report.to) }),
    tone: ({ status }) => toneOf(report, status),
    more: (ticket) => [
      ...aboutTicket(report, ticket),
      ["turns", (turns.get(ticket.id) ?? []).map(turnLine).join("\n"), "code"],
      ["checks", (checks.get(ticket.id) ?? []).map(checkLine).join("\n"), "code"],
    ],
  });
}

function aboutTicket({ work, session }: SessionReport, ticket: TicketModel): PageDetail[] {
  const done = work.get(ticket.id);
  const { cause } = ticket;
  return [
    ["why it failed", [cause?.words, cause?.hint].filter(Boolean).join("\n")],
    ["it printed", cause?.printed ?? "", "code"],
    ["depends on", ticket.depends_on.join(", ")],
    ["used", spendWordsOf(ticket.spend)],
    ["it says", done?.summary ?? ticket.progress ?? ""],
    ["outputs", done?.outputs.join("\n") ?? ""],
    ["issues", done?.issues.join("\n") ?? ""],
    ["changed files", changeLines(session.changes.get(ticket.id)).join("\n")],
    ["artifacts", ticket.artifacts.map(({ label, uri }) => `${label}: ${uri}`).join("\n")],
    ["reviews", ticket.reviews.map(({ decision, by, text }) => `${decision} by ${by}: ${text}`).join("\n")],
    ["states", ticket.moves.map(moveLine).join("\n"), "code"],
  ];
}

function moveLine({ sequence, at, to, reason }: TicketModel["moves"][number]): string {
  return `${momentOf(at)}  ${statusWords(to, reason)}  #${sequence}`;
}

function turnLine({ turn_id, run, role_id, from, to, failed }: TurnSpan): string {
  const took = to === undefined ? "open" : formatDuration(Date.parse(to) - Date.parse(from));
  return `${momentOf(from)}  ${role_id}  ${took}  ${turn_id}.${run}${failed === undefined ? "" : `  ${failed}`}`;
}

function checkLine({ passed, criterion, sequence }: CheckRun): string {
  return `${passed ? "passed" : "FAILED"}  ${criterion}  #${sequence}`;
}

function roleList({ session }: SessionReport): PageList {
  return listOf<RoleModel>({
    id: "roles",
    title: "Cost and tokens by role",
    empty: "There are no roles.",
    entries: [...session.roles.values()],
    columns: [
      { heading: "role", width: 20, cell: ({ role_id }) => role_id },
      { heading: "type", width: 12, cell: ({ type }) => type },
      { heading: "backend", width: 12, cell: ({ backend }) => backend },
      { heading: "turns", width: 8, align: "right", cell: ({ spend }) => String(spend.turns) },
      {
        heading: "tokens in",
        width: 12,
        align: "right",
        cell: ({ spend }) => countWords(spend.input_tokens, spend.untold_turns),
      },
      {
        heading: "tokens out",
        width: 12,
        align: "right",
        cell: ({ spend }) => countWords(spend.output_tokens, spend.untold_turns),
      },
      { heading: "cost", cell: ({ spend }) => costOf(spend) },
    ],
  });
}

function tookOf({ duration_ms }: CheckRun): string {
  return duration_ms === undefined ? "-" : formatDuration(duration_ms);
}

function answerOf({ kind, answer }: Asked): string {
  if (answer === undefined) return "not answered";
  return kind === "command" ? `by ${answer.by}` : `${answer.text} (${answer.by})`;
}
