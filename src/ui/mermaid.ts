import { type Presentation, shownStatus, type Tone } from "../kernel/presentation.ts";
import type { GraphNode } from "../lib/cycle.ts";
import { clipped } from "./display.ts";

/** A larger graph is not legible. */
const MAX_TICKETS = 60;

const LABEL_WIDTH = 40;

const COLOURS: Readonly<Partial<Record<Tone, string>>> = { good: "#2da44e", bad: "#cf222e", warn: "#9a6700" };

interface ShownTicket extends GraphNode {
  readonly status: string;
}

/** The tickets and their dependencies as Mermaid text, which GitHub renders. Empty without dependencies, or with too many tickets. */
export function mermaidLines(presentation: Presentation | undefined, tickets: readonly ShownTicket[]): string[] {
  const nodes = new Map(tickets.map(({ id }, index) => [id, `t${index}`]));
  const edges = tickets.flatMap(({ id, depends_on }) =>
    depends_on.flatMap((before) => (nodes.has(before) ? [`  ${nodes.get(before)} --> ${nodes.get(id)}`] : [])),
  );
  if (edges.length === 0 || tickets.length > MAX_TICKETS) return [];
  const tones = tickets.map(({ status }) => shownStatus(presentation, status).tone);
  return [
    "flowchart LR",
    ...tickets.map(({ id, status }, index) => {
      const tone = tones[index] ?? "plain";
      return `  ${nodes.get(id)}["${label(id)}<br/>${label(status)}"]${COLOURS[tone] === undefined ? "" : `:::${tone}`}`;
    }),
    ...edges,
    ...Object.entries(COLOURS).flatMap(([tone, colour]) =>
      tones.includes(tone as Tone) ? [`  classDef ${tone} stroke:${colour},stroke-width:2px`] : [],
    ),
  ];
}

/** Escapes text for Mermaid: everything but letters, digits and harmless punctuation becomes a character code. */
function label(text: string): string {
  return clipped(text, LABEL_WIDTH).replace(/[^\p{L}\p{N}\p{M} ._-]/gu, (character) => `#${character.codePointAt(0)};`);
}
