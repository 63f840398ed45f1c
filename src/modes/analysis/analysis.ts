import { ANALYSIS_PRESETS } from "../../harness/analysis-presets.ts";
import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import { shownAsSaying, type Speaker, SPEAKERS } from "../../kernel/kit/speakers.ts";
import type { Self } from "../../kernel/kit/state.ts";
import { JSON_SCHEMA, TRANSCRIPT, type Transcript } from "../../kernel/kit/transcript.ts";
import { type Json, type JsonObject, textOf } from "../../lib/json.ts";

/** The input of an analysis. With a schema, the answer's text is JSON that fits it. */
interface AnalysisInput extends Pick<Analysis, "schema"> {
  readonly transcript: Transcript;
  readonly reader: string;
  readonly prompt: string;
  /** The preset that the prompt is from. */
  readonly preset?: string;
}

/** The analysis' own value; with a schema, `value` is the answer. */
export interface Analysis extends Self {
  readonly schema?: JsonObject;
  readonly value?: Json;
}

const PRESETS: Readonly<Record<string, string>> = ANALYSIS_PRESETS;
const NAMES = Object.keys(PRESETS);

/** A role reads the transcript of another session, and answers one question about it (seed 3). */
export const analysis: Descriptor<AnalysisInput, Analysis, Speaker> = {
  name: "analysis",
  letter: "a",
  rules: 1,
  subject: "reader",
  messages: { requirement: { to: SPEAKERS, answers: ["report"] } },
  phases: { analyzing: {} },
  states: {
    waiting: { asked: "reading", failed: "failed" },
    reading: { answered: "answered", set_back: "waiting", failed: "failed" },
    answered: {},
    failed: {},
  },
  events: { created: "seated", asked: "asked", failed: "set_back", left: "failed" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["transcript", "reader", "prompt"],
    properties: {
      transcript: TRANSCRIPT,
      reader: { type: "string" },
      prompt: { type: "string", pattern: "\\S" },
      preset: { enum: NAMES },
      schema: JSON_SCHEMA,
    },
  },
  seats: [{ at: "reader", types: SPEAKERS }],
  check({ preset, prompt }) {
    const what = "a preset goes without another prompt";
    return preset === undefined || prompt === PRESETS[preset] ? [] : [{ pointer: "/preset", what }];
  },
  requirement: "prompt",
  command: {
    words: "analyze",
    summary: "a role reads the transcript of a session, and answers about it",
    examples: ["bosun analyze c-k3m9pa --by ann --preset judge", 'bosun analyze c-k3m9pa --by ann --prompt "Who won?"'],
    noun: "prompt",
    say: "Say what to find out, or name a preset with --preset",
    operand: { flags: "<session>", field: "transcript", description: "the session whose transcript is read" },
    options: [
      { flags: "--by <id>", field: "reader", description: "the role that reads it" },
      { flags: "--prompt <text>", field: "prompt", description: "what it answers; - reads standard input" },
      { flags: "--preset <name>", field: "preset", description: `a prompt that is there: ${NAMES.join(", ")}` },
      { flags: "--schema <file>", field: "schema", description: "a JSON Schema that the answer, in JSON, must fit" },
    ],
    input: ({ prompt, ...given }) => ({ ...given, prompt: prompt ?? PRESETS[textOf(given.preset)] ?? given.preset }),
  },
  presentation: {
    statementName: "analysis",
    statuses: {
      reading: { icon: ">", tone: "busy", stage: "begun" },
      failed: { icon: "x", tone: "bad", stage: "failed" },
      waiting: { icon: "·", tone: "quiet", stage: "waiting" },
      answered: { icon: "+", tone: "good", stage: "done" },
    },
    closingReasons: { no_analysis: "No answer of the reader was accepted." },
    parts({ reader, subject_session, up_to_seq, result = "There is none." }) {
      const title = `Analysis of ${textOf(subject_session)} up to record ${Number(up_to_seq)}, by ${textOf(reader)}`;
      return [{ title, text: typeof result === "string" ? result : JSON.stringify(result, null, 2), points: [] }];
    },
  },
  shown: shownAsSaying,
};
