import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import { sharedState } from "../../kernel/kit/shared-state.ts";
import type { Self, Subject } from "../../kernel/kit/state.ts";
import { from } from "../../kernel/references.ts";
import type { RoleType } from "../../protocol/roles.ts";
import type { ResultPart } from "../../kernel/presentation.ts";
import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";

export interface DebateInput {
  readonly topic: string;
  /** Role ids of participants, in the order in which they are shown. */
  readonly debaters: readonly string[];
  readonly judge: string;
  readonly rounds: number;
  readonly until: Until;
}

/** When the arguing ends: after all rounds, or after a round in which no position changed. */
type Until = "rounds" | "stable";

/** One side of the debate. Its id is its role id. */
export interface Debater extends Subject {
  /** The sequences of its opinions, one for each round from 1. */
  readonly opinions: readonly number[];
  /** Set if it said that its latest opinion has not changed. */
  readonly unchanged?: boolean;
}

/** The debate's own value. The session's seat is the judge's. */
export interface Debate extends Self {
  readonly judge: { readonly role_id: string; readonly type: RoleType };
  readonly rounds: number;
  readonly until: Until;
  readonly round: number;
  /** Why the arguing ended: all rounds were held, no position changed, or only one debater was left. */
  readonly argued_by?: "rounds" | "stable" | "one_left";
  readonly verdict?: number;
}

const DEFAULT_ROUNDS = 3;
const MAX_ROUNDS = 20;
/** Limited so that the judge's transcript of the longest debate fits into a request. */
const MAX_DEBATERS = 100;

/** Participants give their opinions independently, revise them in rounds after reading each other's, and a judge concludes (seed 2). */
export const debate: Descriptor<DebateInput, Debate, Debater> = {
  name: "debate",
  letter: "d",
  rules: 10,
  rows: 3,
  subject: "debater",
  seat: "judge",
  messages: {
    requirement: { to: ["participant"], answers: ["opinion"] },
    report: { to: ["participant", "manager"], answers: ["verdict"] },
  },
  lines: { opinion: { text: "/position" }, verdict: { text: "/conclusion" } },
  phases: { debating: { round_over: "debating", argued: "judging" }, judging: {} },
  states: {
    waiting: { asked: "answering", dropped: "dropped" },
    answering: { opinion_given: "answered", set_back: "waiting", dropped: "dropped" },
    answered: { asked: "answering", dropped: "dropped" },
    dropped: {},
  },
  events: { created: "seated", asked: "asked", failed: "set_back", left: "dropped" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["topic", "debaters", "judge"],
    properties: {
      topic: { type: "string", pattern: "\\S" },
      debaters: { type: "array", minItems: 2, maxItems: MAX_DEBATERS, items: { type: "string" } },
      judge: { type: "string" },
      rounds: { type: "integer", minimum: 1, maximum: MAX_ROUNDS, default: DEFAULT_ROUNDS },
      until: { enum: ["rounds", "stable"], default: "rounds" },
    },
  },
  seats: [
    { at: "debaters.*", types: ["participant"] },
    { at: "judge", types: ["participant", "manager"] },
  ],
  requirement: "topic",
  command: {
    summary: "agents debate a question, and a judge concludes",
    examples: [
      'bosun debate "Python or Go?" --roles examples/debate-roles.json --agents python,go,architect --judge judge',
    ],
    noun: "question",
    say: "Say what to debate",
    unlessFile: "debaters",
    options: [
      {
        flags: "--agents <ids>",
        field: "debaters",
        description: "the debaters: two or more role ids, separated by commas",
      },
      { flags: "--judge <id>", field: "judge", description: "the role that concludes; not a debater" },
      {
        flags: "--rounds <n>",
        field: "rounds",
        description: `how many rounds of answers: 1 to ${MAX_ROUNDS} (default: ${DEFAULT_ROUNDS})`,
      },
      {
        flags: "--until <end>",
        field: "until",
        description: "rounds: all of them (the default); stable: until no debater changes position",
      },
    ],
  },
  presentation: {
    statementName: "position",
    statuses: {
      answering: { icon: ">", tone: "busy", stage: "begun" },
      waiting: { icon: "·", tone: "quiet", stage: "waiting" },
      answered: { icon: "+", tone: "good", stage: "done" },
      dropped: { icon: "x", tone: "bad", stage: "failed" },
    },
    lines: { opinion: ["summary", "position"], verdict: ["summary", "conclusion"] },
    closingReasons: { no_debaters_left: "No debater was left." },
    seats: ({ debaters }) => listOf(debaters).map((one) => textWithin(objectOf(one).role_id)),
    parts,
  },
  shown: ({ id, opinions }) => {
    const last = opinions.at(-1);
    return { title: last === undefined ? id : from(last, "/position"), owner: id };
  },
  projection: (session) => {
    const { phase, round, rounds } = session.self;
    const status = phase === "judging" ? "reviewing" : "executing";
    return sharedState(debate, session, { status, current_step: round, max_steps: rounds, isPlanned: false });
  },
};

/** The verdict, then each debater's last position, from the `result` of the final report. */
function parts({ verdict, judge, rounds, argued_by, debaters }: JsonObject): ResultPart[] {
  const { conclusion, winner, reasons, dissent, consensus } = objectOf(verdict);
  const { held, of } = objectOf(rounds);
  const why = WHY_OVER[textWithin(argued_by)] ?? "";
  const points = [
    ...(winner === undefined ? [] : [`winner: ${textWithin(winner)}`]),
    ...(typeof consensus === "boolean" ? [consensus ? "all agree" : "not all agree"] : []),
    ...textsOf(reasons),
    ...textsOf(dissent).map((text) => `against it: ${text}`),
    `after ${Number(held)} of ${Number(of)} rounds${why}`,
  ];
  const concluded =
    conclusion === undefined
      ? { title: "No verdict", text: "The debate ended without one." }
      : { title: `Verdict of ${textWithin(judge)}`, text: textWithin(conclusion) };
  return [{ ...concluded, points }, ...listOf(debaters).map((debater) => debaterPart(objectOf(debater)))];
}

const WHY_OVER: Readonly<Record<string, string>> = {
  stable: ", since nobody moved any more",
  one_left: ", since only one was left",
};

/** A debater's last position, with its reasons. */
function debaterPart({ role_id, status, reason, opinion }: JsonObject): ResultPart {
  const { position, reasons } = objectOf(opinion);
  const left = status === "dropped" ? ` (dropped${reason === undefined ? "" : `: ${textWithin(reason)}`})` : "";
  const text = position === undefined ? "It gave no opinion." : textWithin(position);
  return { title: `${textWithin(role_id)}${left}`, text, points: textsOf(reasons) };
}

function textsOf(value: Json | undefined): string[] {
  return listOf(value).map(textWithin);
}
