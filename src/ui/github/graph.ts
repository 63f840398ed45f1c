import { clipped } from "../display.ts";
import type { TicketLine } from "../reporter.ts";

/** A larger graph is not legible in a summary. */
const MAX_TICKETS = 60;

const LABEL_WIDTH = 40;

const COLOURS: Readonly<Record<string, string>> = { done: "#2da44e", error: "#cf222e", blocked: "#9a6700" };

/** The tickets and their dependencies as Mermaid text, which GitHub renders. Empty without dependencies, or with too many tickets. */
export function mermaidLines(tickets: readonly TicketLine[]): string[] {
  const nodes = new Map(tickets.map(({ ticket_id }, index) => [ticket_id, `t${index}`]));
  const edges = tickets.flatMap(({ ticket_id, dependencies = [] }) =>
    dependencies.flatMap((id) => (nodes.has(id) ? [`  ${nodes.get(id)} --> ${nodes.get(ticket_id)}`] : [])),
  );
  if (edges.length === 0 || tickets.length > MAX_TICKETS) return [];
  const coloured = Object.entries(COLOURS).filter(([status]) => tickets.some((ticket) => ticket.status === status));
  return [
    "flowchart LR",
    ...tickets.map(({ ticket_id, status }) => {
      const colour = status in COLOURS ? `:::${status}` : "";
      return `  ${nodes.get(ticket_id)}["${label(ticket_id)}<br/>${label(status)}"]${colour}`;
    }),
    ...edges,
    ...coloured.map(([status, colour]) => `  classDef ${status} stroke:${colour},stroke-width:2px`),
  ];
}

/** Escapes text for Mermaid: everything but letters, digits and harmless punctuation becomes a character code. */
function label(text: string): string {
  return clipped(text, LABEL_WIDTH).replace(/[^\p{L}\p{N}\p{M} ._-]/gu, (character) => `#${character.codePointAt(0)};`);
}
