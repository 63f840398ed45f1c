import type { Draft } from "../../kernel/kit/draft.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { lackingIn } from "../../kernel/kit/results.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { wrongAt } from "../../kernel/step.ts";
import { defined, type Json } from "../../lib/json.ts";
import type { Failure } from "../../protocol/failure.ts";
import { type Agent, isHere, type Meeting, meeting, meetingState } from "./meeting.ts";

type D = Draft<Meeting, Agent>;

/** The rules of a meeting. */
export const meetingMode = modeOf(meeting, {
  begin: ({ agents, pm, max_rounds, output_dir }, { payload: { roles } }) => {
    const seated = (id: string) => {
      const { type = "participant", display_name = id } = roles.find(({ role_id }) => role_id === id) ?? {};
      return { type, display_name };
    };
    return {
      self: { pm: { role_id: pm, type: seated(pm).type }, max_rounds, output_dir, scratchpad: [] },
      subjects: agents.map((id) => ({ id, ...seated(id) })),
    };
  },
  seat: ({ pm }, agent) =>
    agent
      ? { seat: { type: agent.type, role_id: agent.id }, message: "requirement" }
      : { seat: pm, message: "meeting_state" },
  // An agent gets the PM's question and analyses, and nobody's words.
  question: (session, agent) =>
    agent
      ? { payload: { text: from(agent.called_by ?? 0, "/prompt_for_agent") }, view: "summary" }
      : { payload: meetingState(session) },
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
  drop: (draft, { id }, reason) => draft.move(id, "left", reason),
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
    const report = finished_by === undefined ? undefined : from(finished_by, "/final_report");
    const rounds = { held: scratchpad.length, of: max_rounds };
    // A time would make the reports of equal sessions differ.
    const entries = scratchpad.map(({ agent_name, content }) => ({ agent_name, content }));
    return { ...defined({ report }), pm: pm.role_id, rounds, scratchpad: entries, output_dir };
  },
});

/** The PM asks an agent, or ends the meeting. */
function decided(draft: D, { sequence, payload }: FactOf<"pm_decision">): Failure | undefined {
  const { next_action, target_agent = "" } = payload;
  if (next_action === "FINISH") {
    draft.patch({ finished_by: sequence });
    draft.finish("done");
    return undefined;
  }
  if (draft.self.phase === "concluding")
    return wrongAt("/next_action", "no agent can be asked any more", "answer FINISH, with the final_report");
  const agents = draft.all().filter(isHere);
  const agent = named(target_agent, agents);
  if (!agent) {
    const ids = agents.map(({ id, display_name }) => (id === display_name ? id : `${id} (${display_name})`));
    const hint = `the agents are ${ids.join(", ")}`;
    return wrongAt("/target_agent", `"${target_agent}" is no agent of this meeting`, hint);
  }
  draft.patchSubject(agent.id, { called_by: sequence });
  draft.offer(agent.id);
  return undefined;
}

/** The agent with this id, or else the only one with this display name. */
function named(name: string, agents: readonly Agent[]): Agent | undefined {
  const same = (text: string) => text.trim().toLowerCase() === name.trim().toLowerCase();
  const [one, another] = agents.filter(({ display_name }) => same(display_name));
  return agents.find(({ id }) => id === name.trim()) ?? (another ? undefined : one);
}

/** Writes on the whiteboard. */
function note(draft: D, { id }: Agent, content: Json): void {
  const entry = { agent_name: id, content, timestamp: draft.fact.received_at };
  draft.patch({ scratchpad: [...draft.self.scratchpad, entry] });
}
