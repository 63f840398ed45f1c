import { defined, type JsonObject } from "../../lib/json.ts";
import type { PayloadType } from "../../protocol/payload.ts";
import type { PersonMessage } from "../interaction/put.ts";
import type { ActingOptions } from "./act.ts";

export interface Given extends ActingOptions {
  readonly [option: string]: string | boolean | undefined;
}

/** What one command does to a meeting: its words behind the meeting, its options, and what it says. */
export interface Act {
  readonly words?: readonly string[];
  /** Flags and description; those with `!` must be given. */
  readonly options?: readonly (readonly [flags: string, description: string])[];
  readonly type: PayloadType | ((given: Given) => PayloadType);
  says(words: readonly string[], given: Given): JsonObject;
}

export const ACTS: Readonly<Record<string, Act>> = {
  invite: {
    words: ["<id>"],
    type: "participant",
    says: ([agent_id = ""]) => ({ agent_id, status: "invited" }),
  },
  join: { type: "participant", says: (_, { as = "" }) => ({ agent_id: as, status: "joined" }) },
  leave: {
    options: [["--reason <text>", "why"]],
    type: "participant",
    says: (_, { as = "", reason }) => ({ agent_id: as, status: "left", ...defined({ reason }) }),
  },
  post: {
    options: [
      ["--text <text>!", "what is said; - reads standard input"],
      ["--type <type>", "comment (default) or agenda_item"],
      ["--reply-to <message>", "the message_id that it answers"],
    ],
    type: ({ type }) => (type === "agenda_item" ? "agenda_item" : "comment"),
    says: (_, { type, text, replyTo }) =>
      type === "agenda_item" ? { title: text } : { text, ...defined({ reply_to_message_id: replyTo }) },
  },
  propose: {
    options: [
      ["--title <text>", "what is proposed, in a line"],
      ["--details <text>", "all of it; - reads standard input"],
      ["--withdraw <proposal>", "in place of both: a proposal of yours that you take back"],
    ],
    type: "proposal",
    says: (_, { title, details, withdraw }) =>
      withdraw === undefined ? defined({ title, details }) : { proposal_id: withdraw, status: "withdrawn" },
  },
  vote: {
    words: ["<proposal>", "<vote>"],
    options: [["--rationale <text>", "why"]],
    type: "vote",
    says: ([proposal_id = "", vote = ""], { rationale }) => ({ proposal_id, vote, ...defined({ rationale }) }),
  },
  state: {
    words: ["<state>"],
    options: [["--reason <text>!", "why"]],
    type: "state_change",
    says: ([new_state = ""], { reason }) => ({ new_state, reason }),
  },
  close: {
    options: [["--summary <text>!", "what came out of it; - reads standard input"]],
    type: "summary",
    says: (_, { summary }) => ({ summary_text: summary }),
  },
};

export function messageOfAct(act: Act, words: readonly string[], given: Given): PersonMessage {
  const payload_type = typeof act.type === "string" ? act.type : act.type(given);
  return { payload_type, payload: act.says(words, given) };
}
