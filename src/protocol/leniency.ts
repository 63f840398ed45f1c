import { isJsonObject, type Json, type JsonObject, objectOf } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { type ObjectShape, type Shape, SHAPES } from "./generated/shapes.ts";
import type { PayloadType } from "./payload.ts";

/** A value as its reader understands it. */
export interface Understood {
  readonly value: Json;
  /** Maps a pointer to the place where the value was written. */
  readonly written: (pointer: string) => string;
}

/**
 * Interprets what models write in place of a list or an object (SPEC.md, section 4): a text or an object in place of a list of them, a text in place
 * of an object with such a field, null for an absent field. Everything else stays as written, and so does every value that fits its schema.
 */
export function understood(name: PayloadType | "plan_file", value: Json): Understood {
  /** The written places of values whose place has changed, by pointer. */
  const moved = new Map<string, string>();
  return { value: read(value, name, "", ""), written };

  function written(pointer: string): string {
    const place = moved.get(pointer);
    if (place !== undefined || pointer === "") return place ?? "";
    const end = pointer.lastIndexOf("/");
    return written(pointer.slice(0, end)) + pointer.slice(end);
  }

  function read(value: Json, from: Shape | string, pointer: string, place: string): Json {
    const shape = shapeOf(from);
    if (shape === undefined) return value;
    if ("list" in shape) return readList(value, shape.list, pointer, place);
    if (isJsonObject(value)) return readObject(value, shape, pointer, place);
    if (typeof value !== "string" || !shape.text) return value;
    moved.set(pointerTo(pointer, shape.text), place);
    return { [shape.text]: value };
  }

  function readList(value: Json, from: Shape | string, pointer: string, place: string): Json {
    const item = shapeOf(from) as ObjectShape;
    const isEntry = isJsonObject(value) || (typeof value === "string" && item.text !== undefined);
    if (!isEntry && !Array.isArray(value)) return value;
    if (isEntry) moved.set(pointerTo(pointer, 0), place);
    const entries = isEntry ? [value] : (value as readonly Json[]);
    const ids = freeIds(entries);
    return entries.map((entry, index) => {
      const found = read(entry, item, pointerTo(pointer, index), isEntry ? place : pointerTo(place, index));
      const isNew = "question_id" in item.fields && typeof entry === "string" && isJsonObject(found);
      return isNew ? { question_id: ids.next().value, ...found } : found;
    });
  }

  function readObject(value: JsonObject, { fields, required }: ObjectShape, pointer: string, place: string): Json {
    const members = Object.entries(value).filter(
      ([key, inner]) => inner !== null || required.includes(key) || !Object.hasOwn(fields, key),
    );
    return Object.fromEntries(
      members.map(([key, inner = null]) => {
        const shape = Object.hasOwn(fields, key) ? fields[key] : undefined;
        // Unknown fields get no pointers, because a hostile payload may have a million of them.
        return [key, shape ? read(inner, shape, pointerTo(pointer, key), pointerTo(place, key)) : inner];
      }),
    );
  }
}

function shapeOf(from: Shape | string): Shape | undefined {
  const shape = typeof from === "string" ? SHAPES[from] : from;
  return typeof shape === "string" ? shapeOf(shape) : shape;
}

/** Generates the ids q1, q2, … that no question has. */
function* freeIds(questions: readonly Json[]): Generator<string, never> {
  const given = new Set(questions.map((question) => objectOf(question).question_id));
  for (let number = 1; ; number += 1) {
    if (!given.has(`q${number}`)) yield `q${number}`;
  }
}
