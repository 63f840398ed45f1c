import { defined, type Json, type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import type { Presentation, ResultPart } from "../presentation.ts";
import type { Subject } from "./state.ts";

/** The statuses of subjects that are steps of a work. */
export const STEP_STATUSES = {
  error: { icon: "x", tone: "bad", stage: "failed" },
  in_progress: { icon: ">", tone: "busy", stage: "begun" },
  pending: { icon: "·", tone: "quiet", stage: "waiting" },
  skipped: { icon: "-", tone: "warn", stage: "failed" },
  done: { icon: "+", tone: "good", stage: "done" },
} as const satisfies Presentation["statuses"];

/** A step in the `result` of a report. */
export function stepResult(
  { id, status, reason }: Subject,
  role_id: string,
  result: Json | undefined,
  more: JsonObject = {},
): JsonObject {
  return { step: id, role_id, ...more, status, ...defined({ reason, result }) };
}

/** The steps in a `result`. */
export function stepsOf({ steps }: JsonObject): JsonObject[] {
  return listOf(steps).map(objectOf);
}

/** What the steps led to, with a line for each of them, then what each of them brought. */
export function stepParts(
  result: JsonObject,
  first: Omit<ResultPart, "points">,
  points: readonly string[] = [],
): ResultPart[] {
  const lines = stepsOf(result).map(({ step, status, reason }) => {
    const why = reason === undefined ? "" : ` (${textOf(reason)})`;
    return `${textOf(step)}: ${textOf(status)}${why}`;
  });
  const brought = stepsOf(result).filter((step) => step.result !== undefined && step.result !== first.text);
  return [
    { ...first, points: [...points, ...lines] },
    ...brought.map((step) => ({ title: textOf(step.step), text: textOf(step.result), points: [] })),
  ];
}
