import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import { introduced, type Seated } from "../../kernel/kit/seated.ts";
import type { Self, Subject, View } from "../../kernel/kit/state.ts";
import { from } from "../../kernel/references.ts";
import { type Json, type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";
import type { RoleType } from "../../protocol/roles.ts";
import type { Instant } from "../../protocol/timestamp.ts";
import type { ResultPart } from "../../kernel/presentation.ts";

/** The input of a meeting. `agents` and `pm` are role ids; `output_dir` is the folder for the report, from the workspace. */
interface MeetingInput extends Pick<Meeting, "max_rounds" | "output_dir"> {
  readonly topic: string;
  readonly agents: readonly string[];
  readonly pm: string;
}

/** Who can be asked. Its id is its role id. */
export interface Agent extends Subject, Seated {
  /** The sequences of the latest decision that called it, and of its latest contribution. */
  readonly called_by?: number;
  readonly said?: number;
}

/** The meeting's own value. The session's seat is the PM's. */
export interface Meeting extends Self {
  readonly pm: { readonly role_id: string; readonly type: RoleType };
  readonly max_rounds: number;
  readonly output_dir: string;
  /** The whiteboard: what each called agent wrote, as a reference, or why it wrote nothing. A round is an entry. */
  readonly scratchpad: readonly { readonly agent_name: string; readonly content: Json; readonly timestamp: Instant }[];
  /** The sequence of the decision with the final report. */
  readonly finished_by?: number;
}

/** A PM reads the whiteboard, asks one agent after another, and writes the report (seed 0). */
export const meeting: Descriptor<MeetingInput, Meeting, Agent> = {
  name: "meeting",
  letter: "m",
  rules: 2,
  subject: "agent",
  seat: "PM",
  messages: {
    meeting_state: { to: ["manager", "participant"], answers: ["pm_decision"] },
    requirement: { to: ["participant", "worker", "manager"], answers: ["report"] },
  },
  lines: { pm_decision: { text: "/analysis", to: "/target_agent" } },
  phases: { discussing: { rounds_over: "concluding" }, concluding: {} },
  states: {
    waiting: { asked: "speaking", left: "left", closed: "uncalled" },
    speaking: { contributed: "heard", set_back: "waiting", passed: "passed", left: "left" },
    passed: { asked: "speaking", left: "left" },
    heard: { asked: "speaking", left: "left" },
    uncalled: {},
    left: {},
  },
  events: { created: "seated", asked: "asked", failed: "set_back", left: "left", closed: "closed" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["topic", "agents", "pm"],
    properties: {
      topic: { type: "string", pattern: "\\S" },
      agents: { type: "array", minItems: 1, maxItems: 100, items: { type: "string" } },
      pm: { type: "string" },
      max_rounds: { type: "integer", minimum: 1, maximum: 100, default: 5 },
      output_dir: { type: "string", minLength: 1, maxLength: 4096, default: "reports" },
    },
  },
  seats: [
    { at: "agents.*", types: ["participant", "worker", "manager"] },
    { at: "pm", types: ["manager", "participant"], fills: true },
  ],
  requirement: "topic",
  command: {
    words: "meeting run",
    summary: "a PM asks one agent after another, and writes a report",
    examples: [
      'bosun meeting run --topic "Move to another database?" --agents architect,analyst,devops --max-rounds 5',
    ],
    noun: "topic",
    say: "Say what the meeting is about",
    options: [
      { flags: "--topic <text>", field: "topic", description: "what it is about; - reads standard input" },
      { flags: "--agents <ids>", field: "agents", description: "who can be asked: role ids, separated by commas" },
      { flags: "--pm <id>", field: "pm", description: "who leads (default: the first manager that is no agent)" },
      { flags: "--max-rounds <n>", field: "max_rounds", description: "how often an agent is asked (default: 5)" },
      { flags: "--output-dir <directory>", field: "output_dir", description: "for the report (default: reports)" },
    ],
  },
  presentation: {
    statementName: "contribution",
    statuses: {
      speaking: { icon: ">", tone: "busy", stage: "begun" },
      passed: { icon: "!", tone: "warn", stage: "failed" },
      waiting: { icon: "·", tone: "quiet", stage: "waiting" },
      heard: { icon: "+", tone: "good", stage: "done" },
      uncalled: { icon: "·", tone: "quiet", stage: "waiting" },
      left: { icon: "-", tone: "quiet", stage: "failed" },
    },
    lines: { pm_decision: ["prompt_for_agent", "final_report"] },
    closingReasons: { no_report: "The PM wrote no report: the whiteboard stands in its place." },
    document({ session_id, requirement, result }) {
      const { conclusion, output_dir } = objectOf(result);
      const text = conclusion === undefined ? boardText(textOf(requirement), objectOf(result)) : textOf(conclusion);
      return { path: `${textOf(output_dir)}/meeting-${textOf(session_id)}.md`, text };
    },
    parts: (result) => [
      result.conclusion === undefined
        ? { title: "No report", text: "The meeting ended without one.", points: [] }
        : { title: `Report of ${textOf(result.pm)}`, text: textOf(result.conclusion), points: [] },
      ...entriesOf(result),
    ],
  },
  shown: ({ id, said }) => ({ title: said === undefined ? id : from(said, "/summary"), owner: id }),
  projection: meetingState,
};

/** The whiteboard as the PM and programs get it. */
export function meetingState(session: View<Meeting, Agent>): JsonObject {
  const { opened, scratchpad, max_rounds, phase } = session.self;
  const agents = session.all().filter(isHere);
  return {
    topic: from(opened, "/input/topic"),
    scratchpad,
    current_round: scratchpad.length,
    max_rounds,
    agents: agents.map((agent) => {
      const entries = scratchpad.filter(({ agent_name }) => agent_name === agent.id).length;
      return { ...introduced(agent), entries };
    }),
    ...(phase === "concluding" ? { must_finish: true } : {}),
  };
}

/** Whether an agent can be asked. */
export const isHere = ({ status }: Agent): boolean => status !== "left";

function entriesOf({ scratchpad }: JsonObject): ResultPart[] {
  return listOf(scratchpad)
    .map(objectOf)
    .map(({ agent_name, content }) => ({ title: textOf(agent_name), text: textOf(content), points: [] }));
}

/** The whiteboard in Markdown, in place of a report. */
function boardText(topic: string, result: JsonObject): string {
  const entries = entriesOf(result).map(({ title, text }) => `## ${title}\n\n${text}`);
  return [`# ${topic}`, "The meeting ended without a report. This is its whiteboard.", ...entries].join("\n\n");
}
