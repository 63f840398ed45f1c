import { type Presentation, shownStatus, type StatusShown, type Tone } from "../kernel/presentation.ts";
import { WAITS } from "./merging.ts";
import type { Style } from "./terminal.ts";

export const STYLES: Readonly<Record<Tone, Style | undefined>> = {
  good: "green",
  bad: "red",
  warn: "yellow",
  busy: "cyan",
  quiet: "dim",
  plain: undefined,
};

export function styledStatus(
  presentation: Presentation | undefined,
  status: string,
): StatusShown & { readonly style: Style | undefined } {
  const shown = shownStatus(presentation, status);
  return { ...shown, style: STYLES[shown.tone] };
}

/** These say themselves where a subject is. */
const TELLING: ReadonlyMap<string, string> = new Map([
  ["cancelled", "cancelled"],
  ["withdrawn", "withdrawn"],
  ["merged", "merged"],
  [WAITS, "waiting to be merged"],
]);

/** Where a subject is, in a person's words, with the reason if one is given. */
export function statusWords(status: string, reason?: string): string {
  const telling = TELLING.get(reason ?? "");
  if (telling !== undefined) return telling;
  const words = status === "error" ? "failed" : status;
  return reason === undefined ? words : `${words} (${reason.replaceAll("_", " ")})`;
}

/** The style of a line about a transition: only what went well or wrong stands out. */
export function eventStyle(presentation: Presentation | undefined, status: string): Style | undefined {
  const { tone } = shownStatus(presentation, status);
  return tone === "busy" || tone === "quiet" ? undefined : STYLES[tone];
}
