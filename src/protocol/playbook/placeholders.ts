import type { Json } from "../../lib/json.ts";
import type { Path } from "./shape.ts";

/** `${name}`, or the `$${` that stands for a literal `${`. */
export const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}/g;

/** The program of the crew that a placeholder's name, `crew.<program>`, is about. */
export function programNamed(name: string): string | undefined {
  return /^crew\.([a-z][a-z-]*)$/.exec(name)?.[1];
}

/** Every placeholder of a value, with where it stands; `in_quotes` when a `shell` text has put quotes of its own around it. */
export function placeholders(value: Json, path: Path): { path: Path; name: string; in_quotes: boolean }[] {
  if (typeof value === "string") {
    return [...value.matchAll(PLACEHOLDER)]
      .filter((match) => match[1] !== undefined)
      .map((match) => ({
        path,
        name: match[1] ?? "",
        in_quotes: path.at(-1) === "shell" && endsInQuotes(value.slice(0, match.index)),
      }));
  }
  if (Array.isArray(value)) return (value as Json[]).flatMap((item, index) => placeholders(item, [...path, index]));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => placeholders(item ?? null, [...path, key]));
}

function endsInQuotes(before: string): boolean {
  let quote: string | undefined;
  for (let index = 0; index < before.length; index += 1) {
    const character = before[index];
    if (character === "\\" && quote !== "'") index += 1;
    else if (quote === undefined && (character === "'" || character === '"')) quote = character;
    else if (character === quote) quote = undefined;
  }
  return quote !== undefined;
}
