import { randomBytes } from "node:crypto";
import { isJsonObject, type Json } from "../../lib/json.ts";

/** Most characters of one text and of one quotation; the middle of a longer one is left out. */
const MAX_TEXT = 20_000;
const MAX_QUOTATION = 100_000;

/** A word that a text does not hold, to mark what is quoted of it. */
export function nonceFor(text: string, random = () => randomBytes(8).toString("hex")): string {
  for (;;) {
    const nonce = random();
    if (!text.includes(nonce)) return nonce;
  }
}

/** Words of others as data: between marks that they cannot hold. */
export function quotation(value: Json | undefined, nonce: string): string {
  const text = outline(value, MAX_TEXT);
  return text === "" ? "" : `<data-${nonce}>\n${cutMiddle(text, MAX_QUOTATION)}\n</data-${nonce}>`;
}

/**
 * A value as text that a model reads easily: `key: value` and `- entry`, with what has several lines indented below its key, so that no text
 * can pass for another key. Empty for an empty value.
 */
export function outline(value: Json | undefined, most = Number.POSITIVE_INFINITY): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return cutMiddle(value, most);
  if (Array.isArray(value)) return value.map((entry: Json) => `- ${indented(outline(entry, most))}`).join("\n");
  if (!isJsonObject(value)) return JSON.stringify(value);
  return Object.entries(value)
    .map(([key, inner]) => [key, inner, outline(inner, most)] as const)
    .filter(([, , text]) => text !== "")
    .map(([key, inner, text]) => {
      const isOneLine = typeof inner !== "object" && !text.includes("\n");
      return isOneLine ? `${key}: ${text}` : `${key}:\n  ${indented(text)}`;
    })
    .join("\n");
}

function indented(text: string): string {
  return text.replaceAll("\n", "\n  ");
}

function cutMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.floor(most / 2);
  const left = `\n[… ${text.length - 2 * half} characters are left out here …]\n`;
  return `${text.slice(0, half)}${left}${text.slice(-half)}`.toWellFormed();
}
