import { safeLine } from "../display.ts";
import { ticketsByNeed } from "../model/model.ts";
import type { Style } from "../terminal.ts";
import { localMoment } from "../timeline.ts";
import { counted } from "../words.ts";
import { askWords, bodyLines as dashboardLines, isTooSmall, progressLine, tooSmall } from "../tui/frame.ts";
import { fitting, keyLines, typingLine } from "../tui/keys.ts";
import { fitted, justified, type Line, rule, type Span, trusted, untrusted, widthOfLine } from "../tui/line.ts";
import { padded } from "../tui/list.ts";
import { elapsed, type Shown } from "../tui/scene.ts";
import { INITIAL_VIEW, selectedOf, type View } from "../tui/view.ts";
import type { Player } from "./player.ts";
import { markerLine, scrubberLine } from "./scrubber.ts";
import { jsonLines, payloadLines, recordHeader, type ShownRecord } from "./shown-record.ts";
import { isComplete, type Tape } from "./tape.ts";

/** Everything the player shows: the session as of a record, and that record. Plain data: `playerFrame` draws it. */
export interface PlayerScene extends Shown {
  readonly player: Player;
  readonly tape: Tape;
  /** The person's name for the session or the folder. */
  readonly name: string;
  readonly record: ShownRecord;
  readonly proof: ProofState;
}

/** The state of the log's proof; `none` if it could not be made. */
export interface ProofState {
  readonly state: "proving" | "ok" | "open" | "failed" | "none";
  readonly problems: readonly { readonly sequence: number | null; readonly what: string }[];
}

/** Minimum number of rows to show lines for the markers and the progress. */
const ROOMY_ROWS = 16;

/** Renders the whole screen: `rows` lines, each exactly `columns` wide. Pure. */
export function playerFrame(scene: PlayerScene, columns: number, rows: number): Line[] {
  if (isTooSmall(columns, rows)) return tooSmall(columns, rows);
  const { player, tape } = scene;
  const head = [headLine(scene, columns), scrubberLine(tape, player.place, columns)];
  if (rows >= ROOMY_ROWS) head.push(markerLine(tape, columns), rule(columns));
  const lines = [...head, ...bodyLines(scene, columns, rows - head.length - 1), footLine(scene, columns)];
  return lines.slice(0, rows).map((line) => fitted(line, columns));
}

/** The ids of the listed tickets, and the selected one: the record's ticket, unless a person selects another. */
export function playerList({ player, model, presentation, tape }: PlayerScene): {
  listed: string[];
  selected: string | undefined;
} {
  const ids = ticketsByNeed(model, presentation).map(({ id }) => id);
  return {
    listed: ids,
    selected: selectedOf({ selected: player.selected ?? tape.entries[player.place]?.ticket }, ids),
  };
}

function bodyLines(scene: PlayerScene, columns: number, rows: number): Line[] {
  const { player, record } = scene;
  if (player.page === "help") return padded(keyLines(HELP), rows);
  if (player.page === "json") {
    const lines = jsonLines(record, columns);
    return padded(lines.slice(Math.min(player.scroll, Math.max(0, lines.length - rows))), rows);
  }
  const below = recordLines(scene, columns, Math.max(1, Math.min(10, Math.floor(rows / 4))));
  const asked = askWords(scene.model);
  const needs: Line =
    asked === undefined
      ? [trusted("   nothing needs a person", "dim")]
      : [trusted(" ? ", "yellow"), untrusted(asked, "yellow")];
  const progress = rows < ROOMY_ROWS - 5 ? [] : [progressLine(scene, columns), needs];
  const view: View = { ...INITIAL_VIEW, selected: playerList(scene).selected };
  const state = dashboardLines(scene, view, columns, rows - below.length - progress.length);
  return [...progress, ...state, ...below];
}

function recordLines({ player, tape, record, proof }: PlayerScene, columns: number, rows: number): Line[] {
  const entry = tape.entries[player.place];
  if (entry === undefined) return padded([rule(columns)], rows + 2);
  const before = tape.sequences[player.place - 1] ?? 0;
  const problems = proof.problems.filter(({ sequence }) => sequence === entry.sequence);
  const wrong = problems.map(({ what }): Line => [trusted("   "), untrusted(what, "red")]);
  const payload = payloadLines(record, columns, rows - wrong.length);
  return [rule(columns), recordHeader(entry, record, before, columns), ...padded([...wrong, ...payload], rows)];
}

function headLine({ player, tape, now, name, proof }: PlayerScene, columns: number): Line {
  const { place, playing, speed } = player;
  const total = tape.sequences.length;
  const read = isComplete(tape) ? "" : `reading ${Math.floor((tape.entries.length / total) * 100)} %  `;
  const right: Line = [trusted(read, "dim"), trusted(`${place + 1}/${total}  `), proofSpan(proof)];
  const state = playing ? `▶ ${speedWords(speed)}` : `‖ ${speedWords(speed)}`;
  const title: Line = [
    trusted(" REPLAY ", "bold"),
    trusted(`${safeLine(name)}  `),
    trusted(`${state}  `, playing ? "green" : "yellow"),
  ];
  const space = columns - widthOfLine(title) - widthOfLine(right) - 1;
  return justified([...title, trusted(fitting(timeWords(now, tape), space))], right, columns);
}

function timeWords(now: number, { entries }: Tape): string[] {
  const [first] = entries;
  const last = entries.at(-1);
  if (first === undefined || last === undefined) return [];
  const moment = localMoment(new Date(now), new Date(first.at));
  return [moment, `(+${elapsed(now - first.at)} of ${elapsed(last.at - first.at)})`];
}

function speedWords(speed: number): string {
  return speed >= 1 ? `${speed}x` : `1/${Math.round(1 / speed)}x`;
}

const PROOF: Readonly<Record<ProofState["state"], readonly [words: string, style: Style]>> = {
  proving: ["verifying…", "dim"],
  ok: ["verified", "green"],
  open: ["verified so far, not closed", "yellow"],
  failed: ["NOT VERIFIED", "red"],
  none: ["not verified", "dim"],
};

function proofSpan({ state, problems }: ProofState): Span {
  const [words, style] = PROOF[state];
  return trusted(`${words}${state === "failed" ? `: ${counted(problems.length, "problem")}` : ""} `, style);
}

const PROMPTS = {
  place: "go to record or time (17, 20:31, +6m)",
  filter: "only records with",
  find: "find",
} as const;

function footLine({ player }: PlayerScene, columns: number): Line {
  const { typing, notice, filter, page, playing } = player;
  if (typing) return typingLine(PROMPTS[typing.what], typing.field, columns);
  if (notice !== undefined) return [trusted(" "), untrusted(notice, "yellow")];
  const only: Line = filter === "" ? [] : [trusted(` only "${safeLine(filter)}" `, "yellow")];
  const keys = {
    state: [
      playing ? "space pause" : "space play",
      "←→ step",
      "[ ] marker",
      "+- speed",
      "v JSON",
      "/ find",
      "? help",
      "q leave",
      "g go to",
      "f filter",
    ],
    json: ["↑↓ scroll", "←→ step", "v back", "q leave"],
    help: ["Esc back", "q leave"],
  }[page];
  return [...only, trusted(` ${fitting(keys, columns - widthOfLine(only) - 1)}`, "dim")];
}

const HELP = [
  ["space", "play or pause"],
  ["+ -", "play faster, slower; a pause lasts at most 2 s"],
  ["→ ←", "next, previous record"],
  ["] [", "next, previous marker: x error ? question D decision R review"],
  ["0 … 9 Home End", "tenths of the log, its first and last record"],
  ["PgUp PgDn", "move by a page"],
  ["g t :", "go to a record (17) or a time (20:31, +6m02s, or with date and zone)"],
  ["/ n N", "search the records; next, previous match"],
  ["f", "step only through records of a ticket, type or role"],
  ["↑ ↓", "select a ticket; Esc selects that of the record again"],
  ["v ⏎", "the record as it is stored"],
  ["q Ctrl-C", "leave"],
] as const;
