import { randomInt } from "node:crypto";
import { LETTERS, letterOf, type ModeName } from "./modes.ts";

/** Without characters that look like others. */
const ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";

const LENGTH = 6;

/** Some of earlier versions have two characters more. */
const GIVEN = new RegExp(`^[${LETTERS}]-[a-z0-9]{1,8}(?:\\.\\d+)*$`);

/** An id for a session that nobody named: `s-k3m9pa`, with the letter of its kind. */
export function newSessionId(mode: ModeName): string {
  return `${letterOf(mode)}-${Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("")}`;
}

/** Whether a word looks like such an id, the beginning of one, or the id of a child session. */
export function isGivenId(word: string): boolean {
  return GIVEN.test(word);
}
