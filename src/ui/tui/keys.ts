import { isLost, isOver, statusesOf } from "../../kernel/presentation.ts";
import { elided, widthOf } from "../../lib/text-layout.ts";
import { safeLine } from "../display.ts";
import { type Field, fieldParts } from "../keyboard/field.ts";
import { statusWords, styledStatus } from "../status.ts";
import { counted } from "../words.ts";
import { type Line, trusted, untrusted, widthOfLine } from "./line.ts";
import type { Scene } from "./scene.ts";
import type { View } from "./view.ts";

/** Whether anything can be tried again here. */
export function retries({ steers, presentation }: Scene): boolean {
  return steers && presentation?.retries === true;
}

/** Whether `r` and `x` can do something to a ticket. */
export function keysFor(scene: Scene, id: string | undefined): { retries: boolean; cancels: boolean } {
  const ticket = scene.model.subjects.get(id ?? "");
  if (ticket === undefined) return { retries: false, cancels: false };
  const cancels = !isOver(scene.presentation, ticket.status);
  const isTroubled = isLost(scene.presentation, ticket.status) || (cancels && ticket.reason !== undefined);
  return { retries: retries(scene) && isTroubled, cancels };
}

/** The last row: what is typed or confirmed, a notice, or the keys. */
export function footLine(scene: Scene, view: View, columns: number): Line {
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
  const what = action.do === "merge" ? "accept the result, and merge it" : action.do;
  const [begin, keys] = [` ${what}`, `? ${action.do === "stop" ? "^C" : "y"} yes, any other key no`];
  const id = "ticket_id" in action && action.ticket_id !== undefined ? ` ${safeLine(action.ticket_id)}` : "";
  const about = action.do === "stop" ? ` and cut off ${counted(turns, "turn")}` : id;
  return [trusted(begin + elided(about, columns - widthOf(begin + keys), "middle") + keys, "yellow")];
}

/** The keys of a help page, with what they do. */
export function keyLines(keys: readonly (readonly [key: string, text: string])[]): Line[] {
  const width = Math.max(...keys.map(([key]) => key.length)) + 2;
  return keys.map(([key, text]) => [trusted(` ${key.padEnd(width)}`, "bold"), trusted(text)]);
}

export function helpLines(scene: Scene): Line[] {
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
          ...(scene.merges ? ([["M", "accept the result, and merge it once the session is closed"]] as const) : []),
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
