import type { JsonObject } from "../../lib/json.ts";

/** Something that was said, as `context.transcript` shows it. Its author is known from the channel, so no text passes for another author's. */
type Utterance = {
  readonly sequence: number;
  readonly source: string;
  readonly payload_type: string;
  readonly payload: {
    readonly text?: string;
    /** The commands that were run for it, one line each. */
    readonly calls?: readonly string[];
    /** What a transcript that is too long leaves out before this. */
    readonly left_out?: string;
  };
};

/** What was said in a session up to a record, as data in the input of another session. */
export type Transcript = {
  readonly session_id: string;
  readonly mode: string;
  readonly up_to: number;
  readonly entries: readonly Utterance[];
};

/** The entries that are not a person's or the scheduler's. */
export function contributionsIn({ entries }: Pick<Transcript, "entries">): readonly Utterance[] {
  return entries.filter(({ source }) => source !== "user" && source !== "scheduler");
}

const PARTY = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" };

/** The schema of a field that holds a transcript. On the command line, its value is the id of the session. */
export const TRANSCRIPT: JsonObject = {
  type: "object",
  holds: "transcript",
  additionalProperties: false,
  required: ["session_id", "mode", "up_to", "entries"],
  properties: {
    session_id: { type: "string", minLength: 1, maxLength: 200 },
    mode: { type: "string", minLength: 1, maxLength: 40 },
    up_to: { type: "integer", minimum: 1 },
    entries: {
      type: "array",
      minItems: 1,
      maxItems: 10_000,
      items: {
        type: "object",
        additionalProperties: false,
        required: ["sequence", "source", "payload_type", "payload"],
        properties: {
          sequence: { type: "integer", minimum: 1 },
          source: PARTY,
          payload_type: { type: "string", pattern: "^[a-z][a-z_]{0,39}$" },
          payload: {
            type: "object",
            additionalProperties: false,
            properties: {
              text: { type: "string" },
              calls: { type: "array", items: { type: "string" } },
              left_out: { type: "string" },
            },
          },
        },
      },
    },
  },
};

/** The field of an input with the transcript that its session continues, and that is therefore part of its own. */
export const CONTINUED = "continued";

/** The schema of a field that holds a JSON Schema. On the command line, its value is the file. */
export const JSON_SCHEMA: JsonObject = { type: "object", holds: "schema" };
