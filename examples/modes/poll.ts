// A mode outside of Bosun's own: voters answer a question, each for itself. ARCHITECTURE.md, "How to add a mode", explains it.
import { defineMode, from, type Self, type Subject } from "bosun/modes";

type Voter = Subject & { /** The record of its answer. */ readonly vote?: number };

export const poll = defineMode<{ readonly topic: string; readonly voters: readonly string[] }, Self, Voter>(
  {
    name: "poll",
    letter: "q",
    rules: 1,
    subject: "voter",
    messages: { requirement: { to: ["participant"], answers: ["opinion"] } },
    phases: { voting: {} },
    states: {
      waiting: { asked: "asked", left: "out" },
      asked: { answered: "voted", failed: "waiting", left: "out" },
      voted: {},
      out: {},
    },
    events: { created: "invited", asked: "asked", failed: "failed", left: "left" },
    input: {
      type: "object",
      required: ["topic", "voters"],
      properties: { topic: { type: "string" }, voters: { type: "array", minItems: 1, items: { type: "string" } } },
    },
    seats: [{ at: "voters.*", types: ["participant"] }],
    requirement: "topic",
    command: { summary: "agents vote", examples: [], noun: "question", say: "Say what to vote about", options: [] },
    presentation: {
      statuses: {
        asked: { icon: ">", tone: "busy", stage: "begun" },
        waiting: { icon: "·", tone: "quiet", stage: "waiting" },
        voted: { icon: "+", tone: "good", stage: "done" },
        out: { icon: "x", tone: "bad", stage: "failed" },
      },
      parts: ({ votes }) => [{ title: "Votes", text: JSON.stringify(votes), points: [] }],
    },
    shown: ({ id }) => ({ title: id, owner: id }),
  },
  {
    begin: ({ voters }) => ({ self: {}, subjects: voters.map((id) => ({ id })) }),
    seat: (_, voter) => ({ seat: { type: "participant", role_id: voter?.id ?? "" }, message: "requirement" }),
    question: ({ self }) => ({ payload: { text: from(self.opened, "/input/topic") } }),
    goOn(draft) {
      const waiting = draft.all().filter(({ status }) => status === "waiting");
      for (const { id } of waiting) draft.offer(id);
      if (waiting.length === 0) draft.finish("done");
    },
    answered(draft, { sequence }, voter) {
      if (!voter) return undefined;
      draft.move(voter.id, "answered");
      draft.patchSubject(voter.id, { vote: sequence });
      return undefined;
    },
    spent: (draft, { id }, code) => draft.move(id, "left", code),
    drop: (draft, { id }, reason) => draft.move(id, "left", reason),
    result: (poll) => ({ votes: poll.all().flatMap(({ vote }) => (vote ? [from(vote, "/position")] : [])) }),
  },
);
