import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import { type Speaker, SPEAKERS } from "../../kernel/kit/speakers.ts";
import type { Self } from "../../kernel/kit/state.ts";
import { THRESHOLD } from "../../kernel/kit/votes.ts";
import { from } from "../../kernel/references.ts";
import { listOf, objectOf, textOf } from "../../lib/json.ts";

/** The input of a panel. Its members are role ids. */
interface PanelInput extends Pick<Panel, "threshold" | "rounds"> {
  readonly topic: string;
  readonly members: readonly string[];
}

/** A member's id is its role id. `reviews` are the sequences of its reviews, one for each round. */
export interface Member extends Speaker {
  readonly approves?: boolean;
  readonly reviews: readonly number[];
}

/** The panel's own value. */
export interface Panel extends Self {
  /** How many of the members must approve, as in `VotePolicy`. */
  readonly threshold: string;
  /** Members who disagree see each other's reviews, without names, until this many rounds are held. */
  readonly rounds: number;
  readonly round: number;
  readonly approved?: boolean;
}

/** Members review the same work independently; those who disagree review once more with the others' reasons, and then the votes decide. */
export const panel: Descriptor<PanelInput, Panel, Member> = {
  name: "panel",
  letter: "r",
  rules: 2,
  subject: "member",
  messages: { requirement: { to: SPEAKERS, answers: ["review"] } },
  lines: { review: { text: "/notes" } },
  phases: { reviewing: {} },
  states: {
    waiting: { asked: "asked", left: "left" },
    asked: { answered: "answered", set_back: "waiting", left: "left" },
    answered: { asked: "asked", left: "left" },
    left: {},
  },
  events: { created: "seated", asked: "asked", failed: "set_back", left: "left" },
  input: {
    type: "object",
    additionalProperties: false,
    required: ["topic", "members"],
    properties: {
      topic: { type: "string", pattern: "\\S" },
      members: { type: "array", minItems: 1, maxItems: 25, items: { type: "string" } },
      threshold: { type: "string", pattern: THRESHOLD, default: ">1/2", examples: [">1/2", ">=2/3", "unanimous"] },
      rounds: { type: "integer", minimum: 1, maximum: 5, default: 2 },
    },
  },
  seats: [{ at: "members.*", types: SPEAKERS }],
  requirement: "topic",
  command: {
    words: "panel",
    summary: "several roles review the same work, and their votes decide",
    examples: ['bosun panel --members ann,ben,eve "Is src/store ready for review?" --threshold unanimous'],
    noun: "topic",
    say: "Say what is to be reviewed",
    options: [
      { flags: "--members <ids>", field: "members", description: "who reviews: role ids, separated by commas" },
      { flags: "--threshold <rule>", field: "threshold", description: '">1/2" (default), ">=2/3", "unanimous", …' },
      { flags: "--rounds <n>", field: "rounds", description: "the most rounds if they disagree (default: 2)" },
    ],
  },
  presentation: {
    statementName: "review",
    statuses: {
      asked: { icon: ">", tone: "busy", stage: "begun" },
      left: { icon: "!", tone: "warn", stage: "failed" },
      waiting: { icon: "·", tone: "quiet", stage: "waiting" },
      answered: { icon: "+", tone: "good", stage: "done" },
    },
    closingReasons: { nobody_left: "No member of the panel gave a review." },
    seats: ({ reviews }) => listOf(reviews).map((one) => textOf(objectOf(one).role_id)),
    parts({ decision, votes, rounds, reviews }) {
      const { approved, of, rule } = objectOf(votes);
      const held = objectOf(rounds);
      const points = [
        `${Number(approved)} of ${Number(of)} approve, ${textOf(rule)} is needed`,
        `${Number(held.held)} of ${Number(held.of)} rounds`,
      ];
      const said = listOf(reviews).map(objectOf);
      return [
        { title: "Decision", text: textOf(decision), points },
        ...said.map(({ role_id, decision: own, notes }) => ({
          title: `${textOf(role_id)}: ${textOf(own) || "no review"}`,
          text: textOf(notes),
          points: [],
        })),
      ];
    },
  },
  shown: ({ id, said }) => ({ title: said === undefined ? id : from(said, "/decision"), owner: id }),
};
