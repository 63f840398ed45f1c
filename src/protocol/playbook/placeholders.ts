import type { Json } from "../../lib/json.ts";
import { pointerTo } from "../../lib/json-pointer.ts";

/** `${name}`, or `$${` for a literal `${`. */
export const PLACEHOLDER = /\$\$\{|\$\{([^}]*)\}/g;

/** A placeholder, and the JSON pointer of the text it is in. */
interface Placeholder {
  readonly pointer: string;
  readonly name: string;
  /** Whether it is inside the quotes of a `shell` text. */
  readonly in_quotes: boolean;
}

/** The program of the crew that a placeholder named `crew.<program>` refers to. */
export function programNamed(name: string): string | undefined {
  return /^crew\.([a-z][a-z-]*)$/.exec(name)?.[1];
}

export function placeholders(value: Json, pointer: string): Placeholder[] {
  if (typeof value === "string") {
    return [...value.matchAll(PLACEHOLDER)]
      .filter((match) => match[1] !== undefined)
      .map((match) => ({
        pointer,
        name: match[1] ?? "",
        in_quotes: pointer.endsWith("/shell") && endsInQuotes(value.slice(0, match.index)),
      }));
  }
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => placeholders(item ?? null, pointerTo(pointer, key)));
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
