import { parseStopCondition } from "../../harness/parse-stop-condition.ts";
import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import { shownAsSaying, type Speaker, SPEAKERS } from "../../kernel/kit/speakers.ts";
import type { Self } from "../../kernel/kit/state.ts";
import { TRANSCRIPT, type Transcript } from "../../kernel/kit/transcript.ts";
import { listOf, objectOf, textOf } from "../../lib/json.ts";

/** The input of a conversation. Participants are role ids, in the order in which they speak. */
interface ConversationInput extends Pick<Conversation, "max_turns" | "stop"> {
  readonly start: string;
  readonly participants: readonly string[];
  readonly continued?: Transcript;
}

/** The conversation's own value. */
export interface Conversation extends Self {
  readonly max_turns: number;
  /** A stop condition of the harness. */
  readonly stop?: string;
  /** How many entries what is continued has, how many of them are contributions, and whose of the participants the last is. */
  readonly earlier: { readonly entries: number; readonly contributions: number; readonly last?: string };
  readonly contributions: readonly { readonly role_id: string; readonly record: number; readonly tokens: number }[];
  /** What held after the last contribution, the strongest first. */
  readonly stopped_by?: readonly string[];
}

/** Roles speak in turn, each to what was said last (seed 3). */
export const conversation: Descriptor<ConversationInput, Conversation, Speaker> = {
  name: "conversation",
  letter: "c",
  rules: 1,
  subject: "participant",
  messages: { requirement: { to: SPEAKERS, answers: ["report"] } },
  lines: { report: { text: "/summary" } },
  phases: { talking: {} },
  states: {
    waiting: { asked: "speaking", passed: "passed" },
    speaking: { contributed: "heard", set_back: "waiting", passed: "passed" },
    heard: { asked: "speaking", passed: "passed" },
    passed: {},
  },
  events: { created: "seated", asked: "asked", failed: "set_back", left: "passed" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["start", "participants"],
    properties: {
      start: { type: "string", pattern: "\\S" },
      participants: { type: "array", minItems: 2, maxItems: 100, items: { type: "string" } },
      max_turns: { type: "integer", minimum: 1, maximum: 1000, default: 10 },
      stop: { type: "string", maxLength: 10_000, examples: ["turns>=3", 'contains("DONE", "ann")'] },
      continued: TRANSCRIPT,
    },
  },
  seats: [{ at: "participants.*", types: SPEAKERS }],
  check({ stop }) {
    const parsed = stop === undefined ? undefined : parseStopCondition(stop);
    return parsed?.ok === false ? [{ pointer: "/stop", what: parsed.error }] : [];
  },
  requirement: "start",
  command: {
    words: "converse",
    summary: "roles speak in turn, each to what was said last",
    examples: [`bosun converse --participants ann,ben --start "Find a name." --stop 'contains("AGREED")'`],
    noun: "start",
    say: "Say how the conversation starts",
    options: [
      { flags: "--participants <ids>", field: "participants", description: "who speaks, in this order: ids of roles" },
      { flags: "--start <text>", field: "start", description: "what the first one answers; - reads standard input" },
      { flags: "--max-turns <n>", field: "max_turns", description: "the most contributions (default: 10)" },
      { flags: "--stop <condition>", field: "stop", description: 'such as tokens>=900 or contains("DONE", "ann")' },
      { flags: "--continue <session>", field: "continued", description: "the session whose transcript goes on" },
    ],
  },
  presentation: {
    statementName: "contribution",
    statuses: {
      speaking: { icon: ">", tone: "busy", stage: "begun" },
      passed: { icon: "!", tone: "warn", stage: "failed" },
      waiting: { icon: "·", tone: "quiet", stage: "waiting" },
      heard: { icon: "+", tone: "good", stage: "done" },
    },
    closingReasons: { nobody_left: "Nobody was left to talk with." },
    parts({ stopped_by, turns, participants, contributions }) {
      const { held, of } = objectOf(turns);
      const passed = listOf(participants).map(objectOf);
      const points = [
        ...listOf(stopped_by).map((by) => `stopped by ${textOf(by)}`),
        ...passed.flatMap(({ role_id, reason }) => (reason ? `${textOf(role_id)} passed: ${textOf(reason)}` : [])),
      ];
      const said = listOf(contributions).map(objectOf);
      const parts = said.map(({ role_id, text }) => ({ title: textOf(role_id), text: textOf(text), points: [] }));
      return [{ title: "Conversation", text: `${Number(held)} of ${Number(of)} turns`, points }, ...parts];
    },
  },
  shown: shownAsSaying,
};
