import type { Draft } from "../../kernel/kit/draft.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { lackingIn } from "../../kernel/kit/results.ts";
import { seatedAs, unfitFor, whoIs } from "../../kernel/kit/seated.ts";
import type { View } from "../../kernel/kit/state.ts";
import type { Choices, FactOf } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { wrongAt } from "../../kernel/step.ts";
import { defined, type Json } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import { type Agent, isHere, type Meeting, meeting, meetingState } from "./meeting.ts";

type D = Draft<Meeting, Agent>;

export const meetingMode = modeOf(meeting, {
  begin: ({ agents, pm, max_rounds, output_dir }, { payload: { roles } }) => ({
    self: { pm: { role_id: pm, type: seatedAs(roles, pm).type }, max_rounds, output_dir, scratchpad: [] },
    subjects: agents.map((id) => ({ id, ...seatedAs(roles, id) })),
  }),
  seat: ({ pm }, agent) =>
    agent
      ? { seat: { type: agent.type, role_id: agent.id }, message: "requirement" }
      : { seat: pm, message: "meeting_state" },
  // An agent gets the PM's question and analyses, and nobody's words.
  question: (session, agent) =>
    agent
      ? { payload: { text: from(agent.called_by ?? 0, "/prompt_for_agent") }, view: "summary" }
      : { payload: meetingState(session), choices: choicesIn(session) },
  goOn(draft) {
    const { phase, scratchpad, max_rounds } = draft.self;
    const isOver = scratchpad.length >= max_rounds || !draft.all().some(isHere);
    if (phase === "discussing" && isOver) draft.go("rounds_over");
    draft.offer();
  },
  answered(draft, fact, agent) {
    if (fact.payload_type === "pm_decision") return decided(draft, fact);
    if (fact.payload_type !== "report" || !agent) return undefined;
    const lacking = lackingIn(fact.payload, "an agent answers with its contribution");
    if (lacking) return lacking;
    draft.move(agent.id, "contributed");
    draft.patchSubject(agent.id, { said: fact.sequence });
    note(draft, agent, from(fact.sequence, "/summary"));
    return undefined;
  },
  spent(draft, agent, code) {
    draft.move(agent.id, "passed", code);
    note(draft, agent, `(no answer: ${code})`);
  },
  gaveUp: (draft, code) => draft.finish("failed", code),
  // The PM gets one more call, in which it may only finish; after that, the whiteboard is the report.
  seatSpent(draft) {
    if (draft.self.phase === "concluding") return draft.finish("failed", "no_report");
    draft.go("rounds_over");
    draft.offer();
  },
  canBeTold: ({ self }) => self.phase !== "concluding",
  result: (session) => {
    const { pm, output_dir, finished_by, scratchpad, max_rounds } = session.self;
    const conclusion = finished_by === undefined ? undefined : from(finished_by, "/final_report");
    const rounds = { held: scratchpad.length, of: max_rounds };
    // A time would make the reports of equal sessions differ.
    const entries = scratchpad.map(({ agent_name, content }) => ({ agent_name, content }));
    return { ...defined({ conclusion }), pm: pm.role_id, rounds, scratchpad: entries, output_dir };
  },
});

/** The PM asks an agent, or ends the meeting. */
function decided(draft: D, { sequence, payload }: FactOf<"pm_decision">): Failure | undefined {
  const { next_action, target_agent = "", prompt_for_agent = "" } = payload;
  if (next_action === "FINISH") {
    draft.patch({ finished_by: sequence });
    draft.finish("done");
    return undefined;
  }
  if (draft.self.phase === "concluding")
    return wrongAt("/next_action", "no agent can be asked any more", "answer FINISH, with the final_report");
  const there = draft.all().filter(isHere);
  const agent = whoIs(target_agent, there, { pointer: "/target_agent", who: "agent", of: "meeting" });
  if (!agent.ok) return agent.error;
  const { id, status } = agent.value;
  const question = { text: prompt_for_agent, pointer: "/prompt_for_agent", isAnswered: status === "heard" };
  const unfit = unfitFor(draft, agent.value, question);
  if (unfit) return unfit;
  draft.patchSubject(id, { called_by: sequence });
  draft.offer(id);
  return undefined;
}

/** What a schema lets the PM answer: who can be asked, or only the end. */
function choicesIn(session: View<Meeting, Agent>): Choices {
  const ids = session
    .all()
    .filter(isHere)
    .map(({ id }) => id);
  const isOver = session.self.phase === "concluding" || ids.length === 0;
  return isOver ? { "/next_action": ["FINISH"] } : { "/target_agent": ids };
}

function note(draft: D, { id }: Agent, content: Json): void {
  const entry = { agent_name: id, content, timestamp: draft.fact.received_at };
  draft.patch({ scratchpad: [...draft.self.scratchpad, entry] });
}
