import { join } from "node:path";
import { beginningOf, fieldOf, fillingOptions, requirementOption } from "../../src/kernel/kit/descriptor.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { type AnyDescriptor, DESCRIPTORS } from "../../src/modes/index.ts";

const AGENTS = join(import.meta.dirname, "agents");

/** A small session, and how it goes undisturbed. */
export interface Scenario {
  readonly name: string;
  /** The arguments that begin it, without program, home, roles and configuration. */
  readonly begin: readonly string[];
  /** A session that has ended before, undisturbed. */
  readonly before?: { readonly session_id: string; readonly begin: readonly string[] };
  /** Arguments that are added on resume. */
  readonly resume?: readonly string[];
  readonly roles: readonly JsonObject[];
  readonly config?: JsonObject;
  readonly tasks?: readonly JsonObject[];
  /** Stands in `input.json` of the workspace, in which the arguments are typed. */
  readonly input?: JsonObject;
  /** How a person reacts to the first question. */
  readonly person?: "answers" | "cancels";
  /** The scheduler gets so many SIGTERM when this ticket is worked on. */
  readonly terminate?: { readonly ticket: string; readonly times: number };
  /** The exit code of the last scheduler. */
  readonly exit_code: 0 | 1;
}

/**
 * Without a sandbox, so that only the next scheduler ends a dead one's leftovers, and agents see each other. Participants have the default
 * sandbox.
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
// The plan is in the workspace, the working directory of every agent.
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

/** So many tasks whose workers wait at once for a file `go` in the workspace, and one task after them. */
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

const DEBATERS = ["this", "that", "judge"].map(member);

function member(role_id: string): JsonObject {
  return agent(role_id, "participant", "member.sh");
}

/** A session that others read. */
const READ = { session_id: "s-read", begin: ["pipeline", "--steps", "read", "Say this."] };

/** A session of a mode of the kit: two roles for each option that takes a list, one for each other seat, and a session for each transcript. */
function ofKit(descriptor: AnyDescriptor): Scenario {
  const { name, command, input, seats } = descriptor;
  const { options } = command;
  const taken = options.flatMap(({ flags, field }) => {
    const roles = fieldOf(input, field)?.["type"] === "array" ? [`${field}1`, `${field}2`] : [field];
    return seats.some(({ at }) => at.split(".")[0] === field) ? [{ flag: flags.split(" ")[0] ?? "", roles }] : [];
  });
  const reads = fillingOptions(descriptor).filter(({ field }) => fieldOf(input, field)?.["holds"] === "transcript");
  const read = reads.flatMap((option) => [
    ...(option === command.operand ? [] : [option.flags.split(" ")[0] ?? ""]),
    READ.session_id,
  ]);
  const topic = requirementOption(descriptor)?.flags.split(" ").slice(0, 1) ?? [];
  return {
    name,
    begin: [
      ...beginningOf(descriptor).split(" "),
      // A session that others join is begun apart, else.
      ...(command.apart === undefined ? [] : ["--foreground"]),
      ...read,
      ...topic,
      "This or that?",
      ...taken.flatMap(({ flag, roles }) => [flag, roles.join(",")]),
    ],
    roles: taken.flatMap(({ roles }) => roles.map(member)).concat(reads.length > 0 ? member("read") : []),
    ...(reads.length > 0 ? { before: READ } : {}),
    exit_code: 0,
  };
}

const UNINSTRUCTED = { instruction: undefined } as unknown as JsonObject;

/** Retries, checks, a join, and rework. */
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
  ...DESCRIPTORS.map(ofKit),
  {
    name: "piped",
    begin: ["pipeline", "input.json", "This or that?"],
    input: {
      steps: [
        { role: "this", transform: { command: ["sh", "-c", "sleep 0.1; tr a-z A-Z"] } },
        { role: "that", group: "both" },
        { role: "judge", group: "both", transform: { command: ["tr", "a-z", "A-Z"] } },
        { role: "this", task_template: "{prev_result}" },
      ],
    },
    roles: DEBATERS,
    exit_code: 0,
  },
  {
    name: "planned",
    begin: ["run", "Write what two have planned"],
    roles: [MANAGER, WORKER, member("this"), member("that")],
    config: { planning: { planners: ["this", "that"] } },
    tasks: [task("a", []), task("b", [])],
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
