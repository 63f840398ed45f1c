import { isJsonObject, type Json, objectOf } from "../lib/json.ts";

/** A value without the criteria that workers are not told. Of their results, only whether they passed is left. */
export function withoutHeldOut(value: Json): Json {
  if (Array.isArray(value)) return (value as Json[]).flatMap((one) => (isHeldOut(one) ? [] : [withoutHeldOut(one)]));
  if (!isJsonObject(value)) return value;
  if (isHeldOut(value.criterion)) return { ...value, criterion: { text: UNTOLD }, output: "" };
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, one === undefined ? one : withoutHeldOut(one)]),
  );
}

const UNTOLD = "a criterion that workers are not told";

/** Whether a criterion, as a plan has it, is not told to workers. */
export function isHeldOut(criterion: unknown): boolean {
  return objectOf(criterion as Json).held_out === true;
}
