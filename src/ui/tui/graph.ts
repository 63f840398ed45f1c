import { depthsOf } from "../../lib/cycle.ts";
import { safeLine } from "../display.ts";
import type { SessionModel, TicketModel } from "../model/model.ts";
import { type Line, trusted, untrusted } from "./line.ts";
import { padded } from "./list.ts";
import type { Shown } from "./scene.ts";
import { styledStatus } from "../status.ts";

/** The dependency graph as a tree: each ticket below its deepest dependency, with its other dependencies named after it. */
export function graphLines({ model, presentation }: Shown, selected: string | undefined, rows: number): Line[] {
  const lines = [...treeOf(model)];
  const place = lines.findIndex(({ ticket }) => ticket.id === selected);
  const first = Math.max(0, Math.min(place - Math.floor(rows / 2), lines.length - rows));
  return padded(
    lines.slice(first, first + rows).map(({ ticket, before, others }): Line => {
      const { icon, style } = styledStatus(presentation, ticket.status);
      const also = others.length === 0 ? "" : `also after ${others.map(safeLine).join(", ")}  `;
      return [
        trusted(ticket.id === selected ? "▸" : " "),
        trusted(before, "dim"),
        trusted(`${icon} `, style),
        trusted(`${safeLine(ticket.id)} `, ticket.id === selected ? "bold" : undefined),
        trusted(`${safeLine(ticket.status)}  `, style),
        trusted(also, "dim"),
        untrusted(ticket.title, "dim"),
      ];
    }),
    rows,
  );
}

export function graphOrder(model: SessionModel): string[] {
  return Array.from(treeOf(model), ({ ticket }) => ticket.id);
}

interface Node {
  readonly ticket: TicketModel;
  /** The tree branches drawn before the ticket. */
  readonly before: string;
  /** Its dependencies other than its parent. */
  readonly others: readonly string[];
}

/** Yields each ticket once, depth first. A forged plan may have a cycle or name unknown tickets. */
function* treeOf({ subjects: tickets }: SessionModel): Generator<Node> {
  const depths = depthsOf([...tickets.values()]);
  const depthOf = (id: string) => depths.get(id) ?? 0;
  const parentOf = (ticket: TicketModel) => {
    const known = ticket.depends_on.filter((id) => tickets.has(id) && id !== ticket.id);
    return known.toSorted((a, b) => depthOf(b) - depthOf(a) || (a < b ? -1 : 1))[0];
  };
  const children = new Map<string | undefined, TicketModel[]>();
  for (const ticket of [...tickets.values()].sort((a, b) => a.order - b.order)) {
    const parent = parentOf(ticket);
    children.set(parent, [...(children.get(parent) ?? []), ticket]);
  }
  const seen = new Set<string>();
  function* below(parent: string | undefined, indent: string): Generator<Node> {
    const siblings = children.get(parent) ?? [];
    for (const [index, ticket] of siblings.entries()) {
      if (seen.has(ticket.id)) continue;
      seen.add(ticket.id);
      const isLast = index === siblings.length - 1;
      const branch = parent === undefined ? "" : isLast ? "└ " : "├ ";
      yield { ticket, before: indent + branch, others: ticket.depends_on.filter((id) => id !== parent) };
      yield* below(ticket.id, indent + (parent === undefined ? "" : isLast ? "  " : "│ "));
    }
  }
  yield* below(undefined, "");
  for (const ticket of tickets.values())
    if (!seen.has(ticket.id)) yield { ticket, before: "↻ ", others: ticket.depends_on };
}
