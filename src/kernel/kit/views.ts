import { at } from "../../lib/json-pointer.ts";
import { defined, type Json, type JsonObject, listOf } from "../../lib/json.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { Fact } from "../mode.ts";
import { from, linesOf } from "../references.ts";

/** How a record of one type is shown in later prompts. Pointers lead into its payload. */
export interface Line {
  /** Its text in a `summary`. A type without one is in none. */
  readonly text?: string;
  /** The role id, or the list of role ids, that it is addressed to. */
  readonly to?: string;
}

export type Lines = { readonly [K in PayloadType]?: Line };

/** What a role is shown of what was said before: all of it, the last `n` records, those addressed to it, or a line of each. */
export type ViewName = "full" | "summary" | "addressed" | `last:${number}`;

/** A record that prompts may show. */
export interface Said {
  readonly sequence: number;
  readonly source: string;
  readonly payload_type: PayloadType;
  readonly to?: readonly string[];
}

/** The collection of these records. */
export const SAID = "said";

/** What is kept of a fact; undefined if the mode shows no records of its type. */
export function saidIn(lines: Lines | undefined, { sequence, source, payload_type, payload }: Fact): Said | undefined {
  const line = lines?.[payload_type];
  if (!line) return undefined;
  const named = line.to === undefined ? undefined : at(payload, line.to);
  const to = [named, ...listOf(named)].filter((role_id) => typeof role_id === "string");
  return { sequence, source, payload_type, ...defined({ to: to.length > 0 ? to : undefined }) };
}

/** Shows a reader what was said up to the record `as_of`: records, or one text. */
export function viewed(
  all: readonly Said[],
  lines: Lines = {},
  {
    view,
    reader,
    as_of = Infinity,
  }: { view?: ViewName | undefined; reader?: string | undefined; as_of?: number | undefined },
): { transcript?: readonly Json[]; summary?: JsonObject } {
  if (view === undefined) return {};
  const said = all.filter(({ sequence }) => sequence <= as_of).toSorted((a, b) => a.sequence - b.sequence);
  if (view === "summary") {
    const parts = said.flatMap(({ sequence, source, payload_type }) => {
      const text = lines[payload_type]?.text;
      return text === undefined ? [] : [[`${source}:`, from(sequence, text)] as const];
    });
    return { summary: linesOf(...parts) };
  }
  const transcript = shown(said, view, reader).map(({ sequence, source, payload_type }) => {
    return { sequence, source, payload_type, payload: from(sequence) };
  });
  return { transcript };
}

function shown(said: readonly Said[], view: Exclude<ViewName, "summary">, reader: string | undefined): readonly Said[] {
  if (view === "full") return said;
  if (view === "addressed") return said.filter(({ to }) => reader !== undefined && to?.includes(reader));
  return said.slice(Math.max(0, said.length - Number(view.slice("last:".length))));
}
