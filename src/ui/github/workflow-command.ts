import { safeText } from "../display.ts";

/** The severity of an annotation. */
export type Level = "error" | "warning" | "notice";

/** A line that makes GitHub show an annotation: `::error title=…::…`. Both texts may be untrusted. */
export function annotation(level: Level, title: string, text: string): string {
  return `::${level} title=${escapedProperty(title)}::${escapedData(text)}`;
}

/** A line that begins a collapsible group in the log. */
export function beginGroup(title: string): string {
  return `::group::${escapedData(title)}`;
}

export const END_GROUP = "::endgroup::";

function escapedData(text: string): string {
  return safeText(text).replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function escapedProperty(text: string): string {
  return escapedData(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
