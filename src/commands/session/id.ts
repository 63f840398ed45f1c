import { randomInt } from "node:crypto";

/** Without characters that look like others. */
const ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";

const LENGTH = 6;

/** An id for a session that nobody named: `s-k3m9pa`, a debate's begins with `d`. */
export function newSessionId(letter: "s" | "d"): string {
  return `${letter}-${Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("")}`;
}

/** Whether a word looks like such an id, the beginning of one, or the id of a child session. */
export function isGivenId(word: string): boolean {
  // Debates of earlier versions have two characters more.
  return /^[sd]-[a-z0-9]{1,8}(?:\.\d+)*$/.test(word);
}
