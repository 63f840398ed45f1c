import { at } from "../../lib/json-pointer.ts";
import { defined, type Json, listOf } from "../../lib/json.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Fact } from "../mode.ts";
import { from } from "../references.ts";

/** How a record of one type is shown in later prompts. Pointers lead into its payload. */
export interface Line {
  /** Its text in a `summary`, which leaves out a type without one. */
  readonly text?: string;
  /** The role id, or the list of role ids, that it is addressed to. */
  readonly to?: string;
  /** Which kind of message it is in the shared state: a result if absent. */
  readonly as?: "FEEDBACK";
}

export type Lines = { readonly [K in PayloadType]?: Line };

/** What a role is shown of what was said before: all of it, the last `n` records, those addressed to it, or only the text of each that its line names. */
export type ViewName = "full" | "summary" | "addressed" | `last:${number}`;

/** A record that prompts may show. */
export interface Said {
  readonly sequence: number;
  readonly source: string;
  readonly payload_type: PayloadType;
  readonly to?: readonly string[];
  /** What it is about, if that has another id than its source. */
  readonly subject?: string;
}

/** The collection of these records. */
export const SAID = "said";

/** What is kept of a fact; undefined if the mode shows no records of its type. */
export function saidIn(lines: Lines | undefined, fact: Fact): Said | undefined {
  const { sequence, actor, subject, payload_type, payload } = fact;
  const { participant: source = fact.source } = actor ?? {};
  const line = lines?.[payload_type];
  if (!line) return undefined;
  const named = line.to === undefined ? undefined : at(payload, line.to);
  const to = [named, ...listOf(named)].filter((role_id) => typeof role_id === "string");
  const about = subject === source ? undefined : subject;
  return { sequence, source, payload_type, ...defined({ to: to.length > 0 ? to : undefined, subject: about }) };
}

/** The `context.transcript` that shows a reader what was said up to the record `as_of`. */
export function transcriptOf(
  all: readonly Said[],
  lines: Lines,
  { view, reader, as_of = Infinity }: { view: ViewName; reader: string | undefined; as_of?: number | undefined },
): Json[] {
  const said = all.filter(({ sequence }) => sequence <= as_of).toSorted((a, b) => a.sequence - b.sequence);
  return shown(said, view, reader).flatMap(({ sequence, source, payload_type }): Json[] => {
    const line = lines[payload_type]?.text;
    if (view !== "summary") return [{ sequence, source, payload_type, payload: from(sequence) }];
    return line === undefined ? [] : [{ sequence, source, payload_type, payload: { text: from(sequence, line) } }];
  });
}

function shown(said: readonly Said[], view: ViewName, reader: string | undefined): readonly Said[] {
  if (view === "full" || view === "summary") return said;
  if (view === "addressed") return said.filter(({ to }) => reader !== undefined && to?.includes(reader));
  return said.slice(Math.max(0, said.length - Number(view.slice("last:".length))));
}
