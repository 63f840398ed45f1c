import { changeLines } from "../../kernel/changes.ts";
import { costWords, countWords } from "../../log/usage-words.ts";
import { spentOf } from "../../runtime/usage.ts";
import { safeLine, wrapped } from "../display.ts";
import { printedIn } from "../cause.ts";
import { askText, blockersOf, type TicketModel } from "../model/model.ts";
import { isLost } from "../../kernel/presentation.ts";
import { reasonReader } from "../../kernel/state.ts";
import { mergingWords } from "../merging.ts";
import { statusWords, styledStatus } from "../status.ts";
import { localTime } from "../timeline.ts";
import { type Line, rule, type Span, trusted, untrusted } from "./line.ts";
import { padded } from "./list.ts";
import { elapsed, type Shown } from "./scene.ts";

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

function factLines(scene: Shown, ticket: TicketModel): Line[] {
  const { model, now, presentation } = scene;
  const { id, title, status, since, owner, attempt, max_attempts, depends_on } = ticket;
  const { checks, reviews, artifacts, cause } = ticket;
  const hasEnded = isLost(presentation, status);
  const { icon, style } = styledStatus(presentation, status);
  const reason = reasonReader(model, presentation)(ticket);
  const where =
    mergingWords(model, ticket, () => cause) ??
    statusWords(status, cause !== undefined && hasEnded ? undefined : reason);
  const needs: string[] = [];
  for (const other of model.subjects.values()) if (other.depends_on.includes(id)) needs.push(other.id);
  const blockers = blockersOf(model, presentation, ticket);
  const tries = `attempt ${attempt}${max_attempts === undefined ? "" : ` of ${max_attempts}`}`;
  const age = since === "" ? "" : `  for ${elapsed(now - Date.parse(since))}`;
  const facts: readonly Fact[] = [
    ...whyFailed(ticket, hasEnded),
    ["owner", `${owner ?? "nobody yet"}${attempt === 0 ? "" : `  ${tries}`}`],
    ...[...model.turns.values()]
      .filter(({ subject }) => subject === id)
      .map((turn): Fact => ["turn", `${turn.turn_id} of ${turn.role_id}, ${elapsed(now - Date.parse(turn.since))}`]),
    ...[...model.asks.values()]
      .filter(({ subject }) => subject === id)
      .map((ask): Fact => ["asks you", askText(model, ask), "yellow"]),
    ["after", depends_on.join(", ")],
    ["waits", blockers.length === 0 ? "" : `for ${blockers.join(", ")}`, "yellow"],
    ["before", needs.join(", ")],
    ["used", usageText(ticket)],
    ["checks", checksText(ticket), checks?.failed.length === 0 ? "green" : "red"],
    ...reviews.slice(-2).map(({ decision, by, text }): Fact => {
      return ["review", `${decision.replace("_", " ")} by ${by}${text === "" ? "" : `: ${text}`}`];
    }),
    ["changed", changeLines(model.changes.get(id), 5).join(", ")],
    ["files", artifacts.map(({ label }) => label).join(", ")],
  ];
  return [
    [trusted(` ${safeLine(id)} `, "bold"), untrusted(title)],
    [nameOf("state"), trusted(`${icon} ${safeLine(where)}`, style), trusted(age, "dim")],
    ...facts.flatMap(([name, text, shown]): Line[] => (text === "" ? [] : [[nameOf(name), untrusted(text, shown)]])),
  ];
}

/** Why it failed. While it is tried again, failed checks are a fact of their own. */
function whyFailed({ cause, checks }: TicketModel, hasEnded: boolean): Fact[] {
  if (cause === undefined || (!hasEnded && cause.words === checks?.failed.join("; "))) return [];
  const printed = hasEnded ? printedIn(cause, 4) : [];
  return [
    [hasEnded ? "why" : "failed", cause.words, "red"],
    ...printed.map((text): Fact => ["", text, "dim"]),
    ["", cause.hint ?? ""],
  ];
}

/** A fact without text is not shown. */
type Fact = readonly [name: string, text: string, style?: Span["style"]];

function nameOf(fact: string): Span {
  return trusted(` ${fact.padEnd(9)}`, "dim");
}

function usageText({ spend }: TicketModel): string {
  if (spend.turns === 0) return "";
  const { cost_usd, told_usd } = spentOf(spend);
  const [told, answered] = [spend.input_tokens, spend.output_tokens].map((one) => countWords(one, spend.untold_turns));
  return `${costWords(cost_usd, told_usd)}  ${told} tokens in, ${answered} out`;
}

function checksText({ checks }: TicketModel): string {
  if (checks === undefined) return "";
  const { passed, failed } = checks;
  return `${passed} passed${failed.length === 0 ? "" : `, ${failed.length} failed: ${failed.join("; ")}`}`;
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
