import type { Answer, TurnEvent } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { failure } from "../../src/protocol/failure.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { later } from "../../src/protocol/timestamp.ts";
import { probe } from "../simulation/scenario.ts";
import { configuration, type Did, type Story, WORKSPACE, type Word } from "./stage.ts";

const ROLES: readonly Role[] = [
  { role_id: "boss", type: "manager", cli_command: ["agent"] },
  {
    role_id: "hand",
    type: "worker",
    cli_command: ["agent"],
    capabilities: ["code"],
    account: "acme",
    price: { input_usd: 2, output_usd: 4 },
  },
  { role_id: "pen", type: "worker", cli_command: ["agent"], capabilities: ["text"], recovery: "ask" },
];

const FIRST_PLAN = [
  { task_id: "everything", description: "Replace the table of users" },
  { task_id: "rest", description: "Tell everybody", dependencies: ["everything"] },
];

const SCHEMA = {
  task_id: "schema",
  description: "Write the migration",
  assigned_to: { capability: "code" },
  acceptance_criteria: [{ text: "Each step can be undone." }, probe("schema", 1)],
};
const API = {
  task_id: "api",
  description: "Read the new table",
  dependencies: ["schema"],
  assigned_to: { capability: "code" },
  risks: ["Clients may break."],
};
const PAGE = {
  task_id: "page",
  description: "Show the new fields",
  dependencies: ["api"],
  assigned_to: { capability: "code" },
  instruction: { summary: "Show name and mail." },
  review: "user",
};
const DOCS = {
  task_id: "docs",
  description: "Describe the table",
  assigned_to: { role_id: "pen" },
  instruction: { summary: "Describe each column." },
};
const LEGACY = { task_id: "legacy", description: "Remove the old table", dependencies: ["page", "docs"] };

const SECOND_PLAN = [SCHEMA, API, PAGE, DOCS, LEGACY];

/** The plan after the documentation was blocked: it is split, and the old table stays. */
const REVISED_PLAN = [
  SCHEMA,
  API,
  PAGE,
  { task_id: "outline", description: "Write the outline", assigned_to: { role_id: "pen" } },
  { ...DOCS, description: "Describe the columns that are left", dependencies: ["outline"] },
];

function says(payload_type: Answer["payload_type"], payload: JsonObject, more: Did = {}): Did {
  const usage = { input_tokens: 1200, output_tokens: 300, cost_usd: 0.02 };
  return { ...more, result: { answer: { payload_type, payload }, refused: [], usage } };
}

const completed = (summary: string, more: Did = {}) =>
  says("report", { status: "completed", summary, outputs: ["src/users.ts"] }, more);
const plan = (summary: string, tasks: readonly JsonObject[]) => says("plan", { summary, tasks });
const instruct = (summary: string) => says("instruction", { summary });
const review = (decision: string, notes: string) => says("review", { decision, notes });
const fails = (code: string, message: string, details: JsonObject = {}): Did => ({
  result: { failure: failure(code as "agent_failed", message, { details }), refused: [] },
});

const PROGRESS: TurnEvent = {
  kind: "envelope",
  payload_type: "report",
  payload: { status: "progress", summary: "The table is made." },
};
const ARTIFACT: TurnEvent = {
  kind: "envelope",
  payload_type: "artifact_ref",
  payload: { label: "migration", uri: "https://example.org/migration.sql" },
};
const REFUSED: TurnEvent = {
  kind: "refused",
  refusal: {
    payload_type: "plan",
    code: "not_permitted",
    pointer: "/payload_type",
    message: "A worker sends no plan.",
  },
  excerpt: '{"payload_type":"plan"}',
};

const WHICH_CLIENTS = { question_id: "clients", text: "Which clients are left?" };

const CONDUCT: Story["conduct"] = {
  "manager//requirement": [
    () =>
      says("clarification", {
        questions: [
          { question_id: "window", text: "When may it be down?", default: "At night" },
          { question_id: "columns", text: "Which columns stay?", options: ["all", "name and mail"] },
        ],
        status: "open",
      }),
    () => plan("Five tasks", SECOND_PLAN),
  ],
  "manager//clarification_response": [() => plan("Two tasks", FIRST_PLAN)],
  "manager//report": [() => instruct("Wait for it."), () => ({ ...instruct("Wait for it still."), takes_ms: 20_000 })],
  "manager/schema/ticket": [() => instruct("Add the table first.")],
  "worker/schema/instruction": [
    () => fails("agent_failed", "It exited with code 1."),
    () => completed("Nobody hears this.", { takes_ms: 60_000, says: [PROGRESS, ARTIFACT, REFUSED] }),
    () => completed("The migration is written."),
    () => fails("agent_failed", "It exited with code 1."),
    () => completed("It runs now."),
    () => completed("Each step has its undo."),
  ],
  "manager/schema/review_request": [
    () => review("changes_requested", "The last step cannot be undone."),
    () => review("approved", "Good."),
  ],
  "manager/api/ticket": [() => says("instruction_proposal", { summary: "Read both tables for a while?" })],
  "worker/api/instruction_proposal": [
    () => says("report", { status: "proposal", summary: "Rather read only the new one." }),
  ],
  "manager/api/report": [
    () => instruct("Read only the new one."),
    () => says("clarification", { questions: [WHICH_CLIENTS], status: "open" }),
    () => instruct("Only the shop is left."),
  ],
  "worker/api/instruction": [
    () =>
      says("report", {
        status: "blocked",
        summary: "Two clients are unknown.",
        questions: [WHICH_CLIENTS],
      }),
    (now) => fails("rate_limited", "Too many requests.", { retry_at: later(now, 45_000) }),
    (now) => {
      const quota = [{ name: "5h", used_percent: 85, resets_at: later(now, 30_000) }];
      const did = completed("The new table is read.");
      return { ...did, result: { refused: [], ...did.result, quota } };
    },
  ],
  "manager/api/review_request": [() => review("approved", "Good.")],
  "worker/page/instruction": [
    () => completed("The page shows them.", { asks: "run: npm test" }),
    () => completed("The page shows the mail first.", { asks: "run: npm test" }),
  ],
  "worker/docs/instruction": [
    () => fails("authentication", "Log in first."),
    () => completed("Nobody hears this.", { takes_ms: 60_000 }),
    () => says("report", { status: "error", summary: "There are too many columns." }),
    () => says("report", { status: "error", summary: "There are too many columns." }),
    () => completed("All columns are described."),
  ],
  "manager/docs/error": [() => plan("The documentation in two steps", REVISED_PLAN)],
  "manager/docs/review_request": [() => review("approved", "Good.")],
  "manager/outline/ticket": [() => instruct("One line for each column.")],
  "worker/outline/instruction": [() => completed("The outline is written.")],
  "manager/outline/review_request": [() => review("approved", "Good.")],
};

const command = (payload: JsonObject): Word => ["user_command", payload];
const approval = (payload: JsonObject): Word => ["approval", payload];

function reviewOfPage(time: number): Word {
  return time === 0
    ? ["review", { decision: "changes_requested", notes: "The mail first.", ticket_id: "page" }]
    : ["review", { decision: "approved", ticket_id: "page" }];
}

/** What people say to what they are asked, and after some records without being asked. */
function replies({ payload_type, payload, record }: LogRecord, time: number): readonly Word[] {
  const { ask_id } = payload as { ask_id?: string };
  switch (payload_type) {
    case "approval_request":
      if (payload["subject"] === "permission") return [approval({ decision: "approved", scope: "ticket", ask_id })];
      return time === 0
        ? [approval({ decision: "changes_requested", notes: "Smaller tasks, please.", ask_id })]
        : [approval({ decision: "approved", ask_id })];
    case "clarification":
      if (record.ticket_id !== "api") return [];
      return [
        ["clarification_response", { answers: [{ question_id: "clients", text: "The shop." }], status: "answered" }],
      ];
    case "turn_failed":
      return record.ticket_id === "docs" && payload["code"] === "authentication"
        ? [command({ command: "release", role_id: "pen" })]
        : [];
    case "session_recovered":
      return payload["graceful"] === false
        ? [["clarification_response", { answers: [{ question_id: "again", text: "repeat" }], status: "answered" }]]
        : [];
    case "report":
      if (record.ticket_id === "page") return [reviewOfPage(time)];
      return record.ticket_id === "schema" && payload["status"] === "progress"
        ? [
            command({ command: "tell", text: "The release is on Friday." }),
            command({ command: "tell", ticket_id: "api", text: "Mind the cache." }),
            command({ command: "cancel", ticket_id: "nobody" }),
          ]
        : [];
    case "instruction_proposal":
      return [command({ command: "pause" })];
    case "user_command":
      return payload["command"] === "pause" ? [command({ command: "resume" })] : [];
    default:
      return [];
  }
}

const answer = (question_id: string, text: string): Word => [
  "clarification_response",
  { answers: [{ question_id, text }], status: "answered" },
];

/** A plan that is asked about, sent back, approved and revised, with all the trouble that five tickets can have. */
export const SCHEDULE: Story = {
  mode: "schedule",
  input: {
    session_id: "s",
    requirement: "Replace the table of users.",
    config: configuration({
      plan_approval: "ask",
      confirm: true,
      dependency_notice_s: 18,
      max_workers: 2,
      max_retries: 2,
      retry_backoff_ms: 1000,
      review: "manager",
      proposal: "risk",
      accounts: { acme: { reserve: 20 } },
      budget: { turns: 200 },
    }),
    roles: ROLES,
    workspace: WORKSPACE,
    started_by: { user: "ada", host: "here", via: "run" },
    facts: [{ payload_type: "requirement", payload: { text: "Replace the table of users." } }],
  },
  acts: [
    { waitsForPeople: false },
    { told: answer("window", "On Sunday"), waitsForPeople: false },
    {
      told: answer("c1.columns", "name and mail"),
      waitsForPeople: true,
      diesAfter: ({ payload_type, target, record }) =>
        payload_type === "turn_request" && target === "pen" && record.run === 2,
    },
    { waitsForPeople: true },
  ],
  conduct: CONDUCT,
  replies,
};
