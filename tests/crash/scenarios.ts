import { join } from "node:path";
import type { JsonObject } from "../../src/lib/json.ts";

const AGENTS = join(import.meta.dirname, "agents");

/** A small session that is made again and again, and how it goes when nobody disturbs it. */
export interface Scenario {
  readonly name: string;
  /** The arguments that begin it, after the program and its home; roles and configuration are added. */
  readonly begin: readonly string[];
  /** What is added when it is taken up. */
  readonly resume?: readonly string[];
  readonly roles: readonly JsonObject[];
  readonly config?: JsonObject;
  readonly tasks?: readonly JsonObject[];
  /** What a person says to the first question: an answer, or the end of it all. */
  readonly person?: "answers" | "cancels";
  /** The first of these tickets to be worked on gets the scheduler a SIGTERM, so often. */
  readonly terminate?: { readonly ticket: string; readonly times: number };
  /** What the last scheduler exits with. */
  readonly exit_code: 0 | 1;
}

/**
 * In no sandbox, so that nobody but the next scheduler ends what a dead one left, and every agent sees the others. The debate has the
 * one that there is by default.
 */
function agent(role_id: string, type: string, program: string, env: JsonObject = {}): JsonObject {
  return {
    role_id,
    type,
    cli_command: ["sh", join(AGENTS, program)],
    supports_multiple_instances: type === "worker",
    env,
    ...(type === "participant" ? {} : { sandbox: "none" }),
  };
}

const WORKER = agent("hand", "worker", "worker.sh");
// The plan stands in the workspace, which every agent has as its directory.
const MANAGER = agent("boss", "manager", "manager.sh", { PLAN: "plan.json" });
const ASKING = agent("boss", "manager", "manager.sh", { PLAN: "plan.json", ASKS: "yes" });

function task(task_id: string, dependencies: readonly string[], more: JsonObject = {}): JsonObject {
  return {
    task_id,
    description: `Work on ${task_id}`,
    dependencies,
    expected_outputs: [`${task_id}.txt`],
    acceptance_criteria: [{ text: "it is there", command: ["sh", join(AGENTS, "check.sh"), `${task_id}.txt`] }],
    instruction: { summary: `Write ${task_id}.txt` },
    review: "checks",
    ...more,
  };
}

/** So many tasks whose workers wait, all at once, until there is a file `go` in the workspace; and one after them all. */
export function holding(count: number): Scenario {
  const names = Array.from({ length: count }, (_, index) => `hold-${index}`);
  return {
    name: `holding-${count}`,
    begin: ["run", "Wait", "--max-workers", String(count)],
    roles: [MANAGER, WORKER],
    tasks: [...names.map((name) => task(name, [])), task("then", names)],
    exit_code: 0,
  };
}

const DEBATERS = ["this", "that", "judge"].map((role_id) => agent(role_id, "participant", "debater.sh"));

const UNINSTRUCTED = { instruction: undefined } as unknown as JsonObject;

/** Retries, checks, a join, work that is sent back. */
export const WORK: Scenario = {
  name: "work",
  begin: ["run", "Write files"],
  roles: [MANAGER, WORKER],
  tasks: [task("a-slow", []), task("b-fail", []), task("c-back", ["a-slow", "b-fail"], { review: "manager" })],
  exit_code: 0,
};

export const SCENARIOS: readonly Scenario[] = [
  WORK,
  {
    name: "people",
    begin: ["run", "Write in a color"],
    roles: [ASKING, WORKER],
    config: { plan_approval: "ask", notify: { command: ["sh", join(AGENTS, "notify.sh")] } },
    tasks: [task("a-ask", [], { ...UNINSTRUCTED, proposal_needed: true, review: "user" })],
    person: "answers",
    exit_code: 0,
  },
  {
    name: "stops",
    begin: ["run", "Write slowly", "--budget-turns", "2"],
    resume: ["--budget-turns", "200"],
    roles: [MANAGER, WORKER],
    tasks: [task("a-slow", [], { ...UNINSTRUCTED, review: "manager" }), task("b", ["a-slow"])],
    terminate: { ticket: "a-slow", times: 1 },
    exit_code: 0,
  },
  {
    name: "hopeless",
    begin: ["run", "Write what cannot be written"],
    roles: [MANAGER, WORKER],
    tasks: [task("a-never", []), task("b", ["a-never"])],
    exit_code: 1,
  },
  {
    name: "cancelled",
    begin: ["run", "Write nothing"],
    roles: [ASKING, WORKER],
    person: "cancels",
    exit_code: 1,
  },
  {
    name: "debate",
    begin: ["debate", "This or that?", "--agents", "this,that", "--judge", "judge", "--rounds", "2"],
    roles: DEBATERS,
    exit_code: 0,
  },
  {
    name: "discussed",
    begin: ["run", "Write what was talked over"],
    roles: [MANAGER, WORKER, ...DEBATERS],
    config: { discussion: { mode: "debate", input: { debaters: ["this", "that"], judge: "judge", rounds: 2 } } },
    tasks: [task("a", [], { ...UNINSTRUCTED, proposal_needed: true }), task("b", [])],
    exit_code: 0,
  },
];
