import { randomBytes, randomInt } from "node:crypto";
import { MODES } from "../../modes/index.ts";

/** Without characters that look alike. */
const ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789";

const LENGTH = 6;

const LETTERS = Array.from(MODES.values(), ({ letter }) => letter);

/** Earlier versions generated ids of up to eight characters. */
const GENERATED = new RegExp(`^[${LETTERS.join("")}]-[a-z0-9]{1,8}(?:\\.\\d+)*$`);

/** A new session id: `s-k3m9pa`, with the letter of its mode. */
export function newSessionId(mode: string): string {
  const letter = MODES.get(mode)?.letter ?? mode.charAt(0);
  return `${letter}-${Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("")}`;
}

/** Whether a word looks like a generated id, a prefix of one, or the id of a child session. */
export function isGeneratedId(word: string): boolean {
  return GENERATED.test(word);
}

/** A new token of somebody: its id, a full stop, and what nobody can guess. */
export function newToken(id: string): string {
  return `${id}.${randomBytes(24).toString("base64url")}`;
}
