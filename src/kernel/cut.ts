import { isPlain } from "../lib/canonical.ts";
import type { Json, JsonObject } from "../lib/json.ts";

/** How far quoted values are shortened. */
export interface Cut {
  /** Maximum length of a text, in UTF-16 units. */
  readonly characters: number;
  /** Maximum number of entries in a list. */
  readonly items: number;
  /** Whether objects with `command` or `shell`, and lists of them, stay whole. Half a command MUST NOT be run. */
  readonly commands: boolean;
}

/** The levels, tried in this order. Texts of up to 128 units are never cut, so ids, digests, codes and times stay whole. */
export const LEVELS: readonly Omit<Cut, "commands">[] = [
  { characters: 262_144, items: 1_000 },
  { characters: 65_536, items: 1_000 },
  { characters: 16_384, items: 1_000 },
  { characters: 4_096, items: 1_000 },
  { characters: 4_096, items: 250 },
  { characters: 4_096, items: 60 },
  { characters: 4_096, items: 15 },
  { characters: 4_096, items: 4 },
  { characters: 1_024, items: 4 },
  { characters: 256, items: 1 },
  { characters: 128, items: 0 },
];

/** At the last level, lists that are not quoted are cut to this many entries. */
const LAST_ENTRIES = 10_000;

/** Returns a shortened copy of a value from record `sequence`. `metadata` is left out, because it may have any shape. */
export function cutQuoted(value: Json, cut: Cut, sequence: number): Json {
  if (typeof value === "string") return cutText(value, cut.characters, sequence);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    const kept = cut.commands && list.some(canBeRun) ? list : list.slice(0, Math.max(1, cut.items));
    const entries = kept.map((entry) => cutQuoted(entry, cut, sequence));
    const left = list.length - kept.length;
    // In a list of texts, one more text can note the cut. A list of objects has no place for a note.
    return left > 0 && typeof list[0] === "string"
      ? [...entries, `[cut: ${left} more entries in record ${sequence}]`]
      : entries;
  }
  if (cut.commands && canBeRun(value)) return value;
  const given: Record<string, Json> = {};
  for (const [key, member] of Object.entries(value as JsonObject)) {
    if (key !== "metadata" && member !== undefined) given[key] = cutQuoted(member, cut, sequence);
  }
  return given;
}

/** Shortens a list that is part of the draft itself: a list of references, or of objects that contain references. */
export function cutEntries(list: readonly Json[], cut: Cut): readonly Json[] {
  if (list.every((one) => typeof one === "object" && one !== null && "$from" in one)) return list.slice(0, cut.items);
  return cut.items === 0 ? list.slice(0, LAST_ENTRIES) : list;
}

function canBeRun(value: Json): boolean {
  return typeof value === "object" && value !== null && ("command" in value || "shell" in value);
}

function cutText(text: string, characters: number, sequence: number): string {
  if (text.length <= characters) return text;
  const kept = text.slice(0, characters).replace(/[\uD800-\uDBFF]$/, "");
  return `${kept} [cut: ${text.length - kept.length} more characters in record ${sequence}]`;
}

/** The size of a value as canonical JSON, in bytes. Counting stops above `limit`. */
export function sizeOf(value: Json | undefined, limit = Number.POSITIVE_INFINITY): number {
  // A long text is written out to be measured; its length is the least that it can have.
  if (typeof value === "string") return value.length > limit ? value.length : textSize(value);
  if (typeof value !== "object" || value === null) return value === undefined ? 0 : JSON.stringify(value).length;
  let size = 2;
  if (Array.isArray(value)) {
    for (const entry of value as readonly Json[]) {
      size += 1 + sizeOf(entry, limit - size);
      if (size > limit) break;
    }
    return size;
  }
  for (const key of Object.keys(value)) {
    const member = (value as JsonObject)[key];
    if (member === undefined) continue;
    size += 2 + textSize(key) + sizeOf(member, limit - size);
    if (size > limit) break;
  }
  return size;
}

function textSize(text: string): number {
  return isPlain(text) ? text.length + 2 : Buffer.byteLength(JSON.stringify(text));
}
