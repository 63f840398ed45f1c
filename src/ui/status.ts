import { type Presentation, shownStatus, type StatusShown, type Tone } from "../kernel/presentation.ts";
import type { Style } from "./terminal.ts";

/** The style of each tone on a terminal. */
export const STYLES: Readonly<Record<Tone, Style | undefined>> = {
  good: "green",
  bad: "red",
  warn: "yellow",
  busy: "cyan",
  quiet: "dim",
  plain: undefined,
};

/** How a status is shown on a terminal. */
export function styledStatus(
  presentation: Presentation | undefined,
  status: string,
): StatusShown & { readonly style: Style | undefined } {
  const shown = shownStatus(presentation, status);
  return { ...shown, style: STYLES[shown.tone] };
}

/** The style of a line about a transition: only what went well or wrong stands out. */
export function eventStyle(presentation: Presentation | undefined, status: string): Style | undefined {
  const { tone } = shownStatus(presentation, status);
  return tone === "busy" || tone === "quiet" ? undefined : STYLES[tone];
}
