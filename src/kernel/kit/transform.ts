import { defined, type JsonObject } from "../../lib/json.ts";
import { at } from "../../lib/json-pointer.ts";
import { err, ok } from "../../lib/result.ts";
import type { Finding } from "../../protocol/document/problem.ts";
import { failure, type Fallible } from "../../protocol/failure.ts";
import { cut } from "../../protocol/refusal.ts";
import type { FactOf, Reference } from "../mode.ts";
import { from } from "../references.ts";
import { wrongAt } from "../step.ts";
import type { CheckCommand } from "./commands.ts";
import type { Draft } from "./draft.ts";
import { valueIn } from "./json-schema.ts";
import { messageOf } from "./shared-state.ts";
import type { Self, Subject } from "./state.ts";

/** How an input says that one text is made of another: the value at a pointer of its JSON, a program, or a function of the host program. */
export interface Transform {
  readonly pointer?: string;
  readonly command?: CheckCommand;
  readonly timeout_s?: number;
  readonly function?: string;
}

/** Its schema in an input. What the schema cannot say: `wrongTransform`. */
export const TRANSFORM: JsonObject = {
  type: "object",
  additionalProperties: false,
  properties: {
    pointer: { type: "string", pattern: "^(?:/[^]*)?$", maxLength: 1_000 },
    command: { type: "array", minItems: 1, maxItems: 100, items: { type: "string", maxLength: 10_000 } },
    timeout_s: { type: "number", exclusiveMinimum: 0, maximum: 86_400 },
    function: { type: "string", pattern: "\\S", maxLength: 200 },
  },
  examples: [{ command: ["sort"] }, { pointer: "/so" }],
};

export function wrongTransform(transform: Transform | undefined, pointer: string): Finding[] {
  if (transform === undefined) return [];
  const { command, timeout_s, function: name } = transform;
  const count = [transform.pointer, command, name].filter((way) => way !== undefined).length;
  if (count === 1 && (timeout_s === undefined || command !== undefined)) return [];
  const what = count === 1 ? '"timeout_s" goes with a command' : `"transform" says ${count} ways in place of one`;
  return [{ pointer, what, expected: "pointer, command or function" }];
}

/** The text of an answer that is made of another: of the `summary` of a subject's report, by the transform that the opening has at `place`. */
export interface Transformed {
  readonly transform: Transform;
  readonly place: string;
  readonly summary: string;
}

/** What a transform makes of the current report; undefined if a program or function has yet to make it (`madeBy`). */
export function transformed<S extends Self, U extends Subject>(
  draft: Draft<S, U>,
  id: string,
  { transform, place, summary }: Transformed,
): Fallible<Reference | undefined> {
  const { pointer, function: called, timeout_s } = transform;
  const { sequence, source } = draft.fact;
  if (pointer === undefined) {
    const read = (field: string) => from(draft.self.opened, `${place}/${field}`);
    const limit = defined({ timeout_s: timeout_s === undefined ? undefined : read("timeout_s") });
    const how = called === undefined ? { command: read("command"), ...limit } : { function: called };
    draft.runChecks(id, [{ text: `the transform of ${id}`, ...how }], from(sequence, "/summary"));
    return ok(undefined);
  }
  const content = textAt(summary, pointer);
  if (!content.ok) return content;
  const payload = messageOf(source, "all", "RESULT", content.value, { step: id, pointer });
  const record = draft.out.envelope({ target: "user", payload_type: "message", subject: id, payload });
  return ok(from(record, "/content"));
}

/** What a program or a function made. The failure goes to the agent whose report it could not take. */
export function madeBy({ sequence, payload: { results } }: FactOf<"check_result">): Fallible<Reference> {
  const [{ passed, output } = { passed: false, output: "" }] = results;
  if (passed && output.trim() !== "") return ok(from(sequence, "/results/0/output"));
  const why = cut(output.trim() || "it printed nothing", 1_000);
  const hint = "report a result that it takes";
  return err(
    failure("checks_failed", `the transform took no such result: ${why}`, { hint, details: { pointer: "/summary" } }),
  );
}

function textAt(summary: string, pointer: string): Fallible<string> {
  const hint = `the summary is JSON with a value at ${JSON.stringify(pointer)}, and nothing else`;
  const parsed = valueIn(summary, "/summary", hint);
  if (!parsed.ok) return parsed;
  const value = at(parsed.value, pointer);
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  if (text.trim() !== "") return ok(text);
  return err(wrongAt("/summary", `there is nothing at ${JSON.stringify(pointer)} of the result`, hint));
}
