import { INSTRUCTION, runs, ScheduleSession, task } from "../../modes/schedule/session.ts";
import type { Role } from "../../../src/protocol/roles.ts";

const ROLES: readonly Role[] = [
  { role_id: "codex", type: "manager", backend: "scripted" },
  { role_id: "claude", type: "worker", backend: "scripted" },
];

const REQUIREMENT = "Build a scheduler for agent CLIs";

const OPENING = {
  requirement: REQUIREMENT,
  roles: ROLES,
  config: { max_workers: 2, max_attempts: 3, review: "manager", budget: { usd: 20, turns: 100 } },
} as const;

const TASKS = [
  task("build", { description: "Scaffold the package" }),
  task("docs", { description: "Write the documents" }),
  task("tests", { description: "Test the machine", acceptance_criteria: [runs("npm", "test")] }),
  task("ship", { description: "Ship it", dependencies: ["build", "docs"] }),
];

const QUESTION = { questions: [{ question_id: "q1", text: "Per-role time-out, or one for all?" }], status: "open" };

const used = (cost_usd: number) => ({ input_tokens: 1000, output_tokens: 200, cost_usd });

/** A running schedule: one ticket is done, one asks a question, one is retried after failed checks, one waits for the others. */
export function running(): ScheduleSession {
  return new ScheduleSession(OPENING)
    .requirement(REQUIREMENT)
    .answer(undefined, "plan", { summary: "Four tasks", tasks: TASKS }, used(0.25))
    .answer("build", "instruction", INSTRUCTION, used(0))
    .answer("build", "report", { status: "progress", summary: "half of it" })
    .answer("build", "artifact_ref", { label: "package.json", uri: "artifacts/package.json", size_bytes: 120 })
    .answer("build", "report", { status: "completed", summary: "all of it" }, used(0.5))
    .answer("build", "review", { decision: "approved", notes: "Good." }, used(0.01))
    .answer("tests", "instruction", INSTRUCTION, used(0))
    .answer("tests", "report", { status: "completed", summary: "done" }, { input_tokens: 10, output_tokens: 5 })
    .finishChecks("tests", false)
    .admit("tests")
    .answer("docs", "clarification", QUESTION, used(0.02))
    .command("limits", undefined, { limits: { usd: 30 } });
}

export const SESSION = running().records;
