import type { Draft } from "../../kernel/kit/draft.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { defined } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { type Agent, contentOf, type Entry, type Meeting, meeting, meetingState } from "./meeting.ts";

type D = Draft<Meeting, Agent>;

const isHere = ({ status }: Agent) => status !== "left";

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
    const { status, summary = "" } = fact.payload;
    if (status === "error" || status === "blocked")
      return { failed: status === "error" ? "agent_failed" : "needs_input" };
    if (status !== "completed" || summary.trim() === "")
      return wrong(
        status === "completed" ? "/summary" : "/status",
        "an agent answers with its contribution",
        "report status completed, with the whole contribution as summary",
      );
    draft.move(agent.id, "contributed");
    note(draft, agent, { said: fact.sequence });
    return undefined;
  },
  spent(draft, agent, code) {
    draft.move(agent.id, "passed", code);
    note(draft, agent, { missing: code });
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
    const entries = scratchpad.map((entry) => ({ agent_name: entry.agent_name, content: contentOf(entry) }));
    return { ...defined({ report }), pm: pm.role_id, rounds, scratchpad: entries, output_dir };
  },
});

/** The PM asks an agent, or ends the meeting. */
function decided(draft: D, { sequence, payload }: FactOf<"pm_decision">): Failure | undefined {
  const { next_action, target_agent = "" } = payload;
  const { phase, scratchpad } = draft.self;
  if (next_action === "FINISH") {
    draft.patch({ finished_by: sequence });
    draft.finish("done");
    return undefined;
  }
  if (phase === "concluding")
    return wrong(
      "/next_action",
      `no agent can be asked any more, after ${scratchpad.length} rounds`,
      "answer FINISH, with the final_report",
    );
  const agents = draft.all().filter(isHere);
  const agent = named(target_agent, agents);
  if (!agent) {
    const ids = agents.map(({ id, display_name }) => (id === display_name ? id : `${id} (${display_name})`));
    return wrong("/target_agent", `"${target_agent}" is no agent of this meeting`, `the agents are ${ids.join(", ")}`);
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

/** Writes on the whiteboard what an agent said, or why it said nothing. */
function note(draft: D, { id }: Agent, what: Pick<Entry, "said" | "missing">): void {
  const entry = { agent_name: id, at: draft.fact.received_at, ...what };
  draft.patch({ scratchpad: [...draft.self.scratchpad, entry] });
  if (what.said !== undefined) draft.patchSubject(id, { said: what.said });
}

function wrong(pointer: string, what: string, hint: string): Failure {
  return failure("validation_failed", what, { hint, details: { pointer } });
}
