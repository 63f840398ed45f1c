import { randomBytes } from "node:crypto";
import { isJsonObject, type Json } from "../../lib/json.ts";

/** Maximum number of characters of one text and of one quotation; longer ones lose their middle. */
const MAX_TEXT = 20_000;
const MAX_QUOTATION = 100_000;

/** A word that does not occur in a text, to mark what is quoted from it. */
export function nonceFor(text: string, random = () => randomBytes(8).toString("hex")): string {
  for (;;) {
    const nonce = random();
    if (!text.includes(nonce)) return nonce;
  }
}

/** Quotes untrusted text as data, between marks that it cannot contain. */
export function quotation(value: Json | undefined, nonce: string): string {
  const text = outline(value, MAX_TEXT);
  return text === "" ? "" : `<data-${nonce}>\n${cutMiddle(text, MAX_QUOTATION)}\n</data-${nonce}>`;
}

/**
 * A value as text that a model reads easily: `key: value` and `- entry`, with multi-line values indented below their key, so that no text can pass
 * for another key. Empty for an empty value.
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
