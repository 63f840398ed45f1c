import { countWords } from "../../log/usage-words.ts";
import { safeLine, wrapped } from "../display.ts";
import type { TicketModel } from "../model/model.ts";
import { blockersOf } from "../model/order.ts";
import { reasonReader } from "../../kernel/state.ts";
import { askText } from "../model/asks.ts";
import { styledStatus } from "../status.ts";
import { localTime } from "../timeline.ts";
import { type Line, rule, trusted, untrusted } from "./line.ts";
import { padded } from "./list.ts";
import { costCell, elapsed, type Shown } from "./scene.ts";

/** A ticket's page: its facts, and below them its events and its agents' output, scrolled up by `scroll` lines. */
export function ticketLines(scene: Shown, ticket: TicketModel, scroll: number, columns: number, rows: number): Line[] {
  const facts = factLines(scene, ticket);
  // On a small screen the story keeps half of the rows.
  const top = facts.slice(0, Math.max(2, rows - Math.max(4, Math.floor(rows / 2))));
  const space = rows - top.length - 1;
  const story = storyLines(scene, ticket, columns);
  const last = Math.max(Math.min(space, story.length), story.length - Math.min(scroll, story.length));
  const shown = story.slice(Math.max(0, last - space), last);
  const follow = last === story.length ? "following" : `${story.length - last} more below`;
  return padded([...top, rule(columns, `history · ${follow}`), ...shown], rows);
}

/** A ticket's facts, one per line. */
function factLines(scene: Shown, ticket: TicketModel): Line[] {
  const { model, now, presentation } = scene;
  const { id, title, status, since, owner, attempt, max_attempts, depends_on, spend, checks } = ticket;
  const { icon, style } = styledStatus(presentation, status);
  const reason = reasonReader(model, presentation)(ticket);
  const fact = (name: string, text: string, shown?: Line[number]["style"]): Line => [
    trusted(` ${name.padEnd(9)}`, "dim"),
    untrusted(text, shown),
  ];
  const turns = [...model.turns.values()].filter(({ subject }) => subject === id);
  const needs: string[] = [];
  for (const other of model.subjects.values()) if (other.depends_on.includes(id)) needs.push(other.id);
  const blockers = blockersOf(model, presentation, ticket);
  const tries = `attempt ${attempt}${max_attempts === undefined ? "" : ` of ${max_attempts}`}`;
  const age = since === "" ? "" : `  for ${elapsed(now - Date.parse(since))}`;
  return [
    [trusted(` ${safeLine(id)} `, "bold"), untrusted(title)],
    [
      trusted(` ${"state".padEnd(9)}`, "dim"),
      trusted(`${icon} ${safeLine(status)}`, style),
      trusted(reason === undefined ? "" : ` (${safeLine(reason)})`),
      trusted(age, "dim"),
    ],
    fact("owner", `${owner ?? "nobody yet"}${attempt === 0 ? "" : `  ${tries}`}`),
    ...turns.map(({ turn_id, role_id, since: from }) =>
      fact("turn", `${turn_id} of ${role_id}, ${elapsed(now - Date.parse(from))}`),
    ),
    ...[...model.asks.values()]
      .filter(({ subject }) => subject === id)
      .map((ask) => fact("asks you", askText(model, ask), "yellow")),
    ...(depends_on.length === 0 ? [] : [fact("after", depends_on.join(", "))]),
    ...(blockers.length === 0 ? [] : [fact("waits", `for ${blockers.join(", ")}`, "yellow")]),
    ...(needs.length === 0 ? [] : [fact("before", needs.join(", "))]),
    ...(spend.turns === 0
      ? []
      : [
          fact(
            "cost",
            `${costCell(spend)}  ${countWords(spend.input_tokens, spend.untold)} tokens in, ${countWords(spend.output_tokens, spend.untold)} out`,
          ),
        ]),
    ...(checks === undefined
      ? []
      : [
          fact(
            "checks",
            `${checks.passed} passed${checks.failed.length === 0 ? "" : `, ${checks.failed.length} failed: ${checks.failed.join("; ")}`}`,
            checks.failed.length === 0 ? "green" : "red",
          ),
        ]),
    ...ticket.reviews
      .slice(-2)
      .map(({ decision, by, text }) =>
        fact("review", `${decision.replace("_", " ")} by ${by}${text === "" ? "" : `: ${text}`}`),
      ),
    ...(ticket.failure === undefined
      ? []
      : [fact("failure", `${ticket.failure.code}: ${ticket.failure.message}`, "red")]),
    ...(ticket.artifacts.length === 0 ? [] : [fact("files", ticket.artifacts.map(({ label }) => label).join(", "))]),
  ];
}

/** A ticket's story, wrapped to one line per screen row. */
function storyLines({ story }: Shown, { id }: TicketModel, columns: number): Line[] {
  const width = columns - 10;
  return story(id).flatMap(({ at, text, style }) => {
    const lines = width < 10 ? [safeLine(text)] : wrapped(text, width, 0);
    return lines.map(
      (line, index): Line => [
        trusted(index === 0 ? ` ${localTime(new Date(at)).slice(0, 8)} ` : " ".repeat(10), "dim"),
        trusted(line, style),
      ],
    );
  });
}
