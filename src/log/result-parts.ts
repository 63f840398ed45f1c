import type { Presentation, ResultPart } from "../kernel/presentation.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Spent } from "../protocol/payload.ts";
import { type Role, vendorOf } from "../protocol/roles.ts";
import { totalWords } from "./usage-words.ts";

/** The parts of a result. Where several have judged, the first part says how many seats and vendors they had, and what the session cost. */
export function resultParts(
  presentation: Presentation,
  result: JsonObject,
  { roles, usage }: { readonly roles: readonly Role[]; readonly usage: JsonObject | undefined },
): readonly ResultPart[] {
  const [first, ...others] = presentation.parts(result);
  const ids = presentation.seats?.(result) ?? [];
  const seats = roles.filter(({ role_id }) => ids.includes(role_id));
  if (!first || seats.length === 0) return first ? [first, ...others] : [];
  const vendors = new Set(seats.map(vendorOf)).size;
  const independent = `${counted(seats.length, "seat")}, ${counted(vendors, "vendor")}`;
  const cost = totalWords(usage as unknown as Spent | undefined);
  return [{ ...first, points: [...first.points, [independent, ...cost].join("; ")] }, ...others];
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
