import type { Draft } from "../../kernel/kit/draft.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { lackingIn } from "../../kernel/kit/results.ts";
import { lackFor, seatedAs, whoIs } from "../../kernel/kit/seated.ts";
import { messageOf } from "../../kernel/kit/shared-state.ts";
import type { View } from "../../kernel/kit/state.ts";
import { stepResult } from "../../kernel/kit/steps.ts";
import type { FactOf } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { wrongAt } from "../../kernel/step.ts";
import { defined } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import { cut } from "../../protocol/refusal.ts";
import { type Orchestration, orchestration, type PlanStep, stateOf } from "./orchestration.ts";

type D = Draft<Orchestration, PlanStep>;
type V = View<Orchestration, PlanStep>;
type Planned = Pick<PlanStep, "agent" | "task">;

/** After so many steps in a row that brought nothing, and after each more of them, the person is told. */
const STALLS = 3;

/** The answer of a person who agrees with a plan. */
const AGREED = "carry it out";

export const orchestrationMode = modeOf(orchestration, {
  begin: ({ agents, planner, max_steps, max_replans, review_plan }, { payload: { roles } }) => ({
    self: {
      planner: { role_id: planner, type: seatedAs(roles, planner).type },
      agents: agents.map((id) => ({ id, ...seatedAs(roles, id) })),
      ...{ max_steps, max_replans, review_plan },
      ...{ begun: 0, replans: 0, stalls: 0 },
    },
    subjects: [],
  }),
  seat: ({ planner, agents }, step) => {
    if (!step) return { seat: planner, message: "shared_state" };
    const type = agents.find(({ id }) => id === step.agent)?.type ?? "participant";
    return { seat: { type, role_id: step.agent }, message: "message" };
  },
  // An agent gets its task, the results so far, and what the planner said of them.
  question(session, step) {
    const { planner, agents, begun, max_steps } = session.self;
    const ids = agents.map(({ id }) => id);
    const choices = { "/next_action": mayAnswer(session), "/steps/*/agent": ids, "/agent": ids };
    if (!step) return { payload: stateOf(session), choices };
    const metadata = { step: step.id, number: begun, of: max_steps };
    return { payload: messageOf(planner.role_id, step.agent, "TASK", step.task, metadata), view: "summary" };
  },
  goOn(draft) {
    if (draft.self.phase === "executing" && mayAnswer(draft).length === 1) draft.go("steps_over");
    draft.offer();
  },
  answered(draft, fact, step) {
    if (fact.payload_type === "plan_decision") return decided(draft, fact);
    if (fact.payload_type !== "report" || !step) return undefined;
    const lacking = lackingIn(fact.payload, "a step ends with its result");
    if (lacking) return lacking;
    draft.move(step.id, "completed");
    draft.patchSubject(step.id, { result: fact.sequence });
    return undefined;
  },
  told(draft, text = AGREED) {
    if (text.trim().toLowerCase() === AGREED) return carryOut(draft);
    replaceOpen(draft);
    draft.go("sent_back");
  },
  spent(draft, step, code) {
    draft.move(step.id, "failed", code);
    stalled(draft);
  },
  gaveUp: (draft, code) => draft.finish("failed", code),
  // The planner gets one more turn, in which it may only finish; after that, the results are the report.
  seatSpent(draft) {
    const { phase } = draft.self;
    if (phase !== "executing") return draft.finish("failed", phase === "planning" ? "no_plan" : "no_report");
    draft.go("steps_over");
    draft.offer();
  },
  result(session) {
    const { planner, finished_by, begun, max_steps, replans, max_replans } = session.self;
    return {
      ...defined({ report: finished_by === undefined ? undefined : from(finished_by, "/final_report") }),
      planner: planner.role_id,
      plan: { begun, max_steps, replans, max_replans },
      steps: session.all().map((step) => {
        const { agent, task, result } = step;
        return stepResult(step, agent, result && from(result, "/summary"), { task });
      }),
    };
  },
});

function mayAnswer(session: V): ("PLAN" | "GO_ON" | "FINISH")[] {
  const { phase, begun, max_steps, replans, max_replans } = session.self;
  if (phase === "planning") return ["PLAN"];
  if (phase === "concluding" || begun >= max_steps) return ["FINISH"];
  const isOpen = session.count("pending") > 0;
  return [...(isOpen ? ["GO_ON" as const] : []), ...(replans < max_replans ? ["PLAN" as const] : []), "FINISH"];
}

/** The planner judges the latest result, and says what comes next. A plan that changes nothing goes on. */
function decided(draft: D, { sequence, payload }: FactOf<"plan_decision">): Failure | undefined {
  const { next_action, satisfied, steps = [], agent } = payload;
  const may = mayAnswer(draft);
  const closed = wrongAt("/next_action", `${next_action} is not accepted now`, `answer ${may.join(" or ")}`);
  const isPlan = next_action === "PLAN";
  if (!may.includes(next_action) && !(isPlan && may.includes("GO_ON"))) return closed;
  if (next_action === "FINISH") {
    draft.patch({ finished_by: sequence });
    draft.finish("done");
    return undefined;
  }
  const open = openSteps(draft);
  const wanted = isPlan ? steps : open.map((step, place) => (place === 0 && agent ? { ...step, agent } : step));
  const plan = planOf(draft, wanted, (place) => (isPlan ? `/steps/${place}` : ""));
  if (!plan.ok) return plan.error;
  const isOther = isPlan && wordsOf(open) !== wordsOf(plan.value);
  if (isOther && !may.includes("PLAN")) return closed;
  if (satisfied === true) draft.patch({ stalls: 0 });
  // A step that failed has been counted.
  const latest = draft.all().findLast(({ status }) => status === "done" || status === "error");
  if (satisfied === false && latest?.status === "done" && draft.self.phase === "executing") stalled(draft);
  if (isOther) replan(draft, plan.value);
  else carryOut(draft, plan.value[0]?.agent);
  return undefined;
}

/** The steps of a plan, with the ids of its agents. `at` says where a step stands in the answer. */
function planOf({ self }: D, steps: readonly Planned[], at: (place: number) => string): Fallible<Planned[]> {
  const left = self.max_steps - self.begun;
  const what = `the plan has ${steps.length} steps, and ${left} are left`;
  if (steps.length > left) return err(wrongAt("/steps", what, "plan no more than are left"));
  const planned: Planned[] = [];
  for (const [place, { agent, task }] of steps.entries()) {
    const found = whoIs(agent, self.agents, { pointer: `${at(place)}/agent`, who: "agent", of: "orchestration" });
    if (!found.ok) return found;
    const lack = lackFor(found.value, task, `${at(place)}/task`);
    if (lack) return err(lack);
    planned.push({ agent: found.value.id, task });
  }
  return ok(planned);
}

const wordsOf = (steps: readonly Planned[]) => JSON.stringify(steps.map(({ agent, task }) => [agent, task.trim()]));

const openSteps = (session: V): PlanStep[] => session.all().filter(({ status }) => status === "pending");

/** Puts a plan in place of the open steps. */
function replan(draft: D, plan: readonly Planned[]): void {
  replaceOpen(draft);
  const count = draft.all().length;
  for (const [place, { agent, task }] of plan.entries())
    draft.create({ id: `step-${count + place + 1}`, agent, task }, count + place);
  const { phase, replans, review_plan } = draft.self;
  if (phase === "planning") draft.go("planned");
  else draft.patch({ replans: replans + 1 });
  if (!review_plan) return carryOut(draft);
  const lines = openSteps(draft).map(({ id, agent, task }) => `${id} by ${agent}: ${cut(task, 100)}`);
  const text = ["Shall this plan be carried out? Any other answer says what to change.", ...lines].join("\n");
  draft.ask(undefined, { text, options: [AGREED] });
}

function replaceOpen(draft: D): void {
  for (const { id } of openSteps(draft)) draft.move(id, "left", "replaced");
}

/** Asks the agent of the next step. */
function carryOut(draft: D, agent?: string): void {
  const [next] = openSteps(draft);
  if (!next) return;
  if (agent !== undefined) draft.patchSubject(next.id, { agent });
  draft.patch({ begun: draft.self.begun + 1 });
  draft.offer(next.id);
}

/** Counts a step that brought nothing, and tells the person of several in a row. */
function stalled(draft: D): void {
  const stalls = draft.self.stalls + 1;
  draft.patch({ stalls });
  if (stalls % STALLS > 0) return;
  const payload = messageOf("scheduler", "all", "SYSTEM", `${stalls} steps in a row have brought nothing that helps.`);
  draft.out.envelope({ target: "user", payload_type: "message", payload });
}
