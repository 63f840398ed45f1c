import type { Json, JsonObject } from "../../lib/json.ts";
import type { Seat } from "./trial.ts";

const TASK = {
  task_id: "words",
  description: "Write the words",
  dependencies: ["outline"],
  expected_outputs: [{ text: "words.txt" }],
};

const TICKET = { ticket_id: "words", task_id: "words", status: "in_progress", history: [], task: TASK };

const INSTRUCTION = { summary: "Write three words into words.txt", steps: [{ text: "Choose the words" }] };

const REPORT = {
  status: "completed",
  summary: "Three words are written",
  outputs: [{ text: "words.txt" }],
  evidence: [{ text: "wc says 3" }],
};

const CONTEXT = {
  requirement: "A page about tides",
  clarifications: [{ question: "Who reads it?", answer: "Sailors" }],
  plan: { summary: "Outline, then words", counts: { done: 1, in_progress: 1 } },
};

const ABOUT_TICKET = {
  ...CONTEXT,
  ticket: TICKET,
  history: [
    { sequence: 12, at: "2026-01-01T00:00:00Z", event: "task_created", payload_type: "plan", attempt: 0, payload: {} },
  ],
  dependencies: [{ task_id: "outline", outputs: [{ label: "outline", uri: "outline.md" }], artifacts: [] }],
};

function turn(
  payload_type: string,
  expects: readonly string[],
  payload: JsonObject,
  context: JsonObject = ABOUT_TICKET,
): JsonObject {
  return { expects: [...expects], message: { payload_type, payload }, context };
}

/** An instruction turn with these fields changed. */
function instruction(more: JsonObject = {}, context: JsonObject = {}): JsonObject {
  return turn("instruction", ["error", "report"], { ...INSTRUCTION, ...more }, { ...ABOUT_TICKET, ...context });
}

const PLAN = ["clarification", "error", "plan"];
const INSTRUCT = ["clarification", "error", "instruction"];
const REVIEW = ["clarification", "error", "review"];

/** A requirement turn with these fields of the context changed. */
function requirement(context: JsonObject = {}): JsonObject {
  return turn("requirement", PLAN, { text: "A page about tides" }, { requirement: "A page about tides", ...context });
}

/** A turn that every program in the seat can answer. */
export function plainTurn(seat: Seat, context: JsonObject = {}): JsonObject {
  return seat === "worker" ? instruction({}, context) : requirement(context);
}

/** One turn for each kind of message that the seat gets, by name. */
export function turnsOf(seat: Seat): Readonly<Record<string, JsonObject>> {
  return seat === "worker" ? WORKER : MANAGER;
}

const check = (passed: boolean): Json => ({
  criterion: "words.txt has three words",
  exit_code: passed ? 0 : 1,
  passed,
  output: passed ? "" : "only two",
});

const review = (passed: boolean) =>
  turn("review_request", REVIEW, {
    ticket_id: "words",
    instruction: INSTRUCTION,
    report: REPORT,
    checks: [check(passed)],
    artifacts: [],
  });

const MANAGER = {
  requirement: requirement(),
  "requirement with answers": requirement({ clarifications: CONTEXT.clarifications }),
  "requirement again, with a note": requirement({ notes: ["Shorter, please"] }),
  "answers to its questions": turn(
    "clarification_response",
    PLAN,
    { answers: [{ question_id: "q1", text: "Sailors" }], status: "answered" },
    CONTEXT,
  ),
  "no more questions": turn("clarification_response", PLAN, { answers: [], status: "complete" }, CONTEXT),
  "a ready ticket": turn("ticket", [...INSTRUCT, "instruction_proposal"], TICKET),
  "a ticket to discuss": { ...turn("ticket", [...INSTRUCT, "instruction_proposal"], TICKET), discuss: true },
  "a worker's proposal": turn("report", INSTRUCT, { ...REPORT, status: "proposal" }),
  "a worker's questions": turn("report", INSTRUCT, {
    status: "blocked",
    questions: [{ question_id: "q1", text: "Which words?", options: ["long", "short"] }],
  }),
  "a long wait": turn("report", [...INSTRUCT, "plan"], {
    status: "blocked",
    summary: "Others wait for words",
    metadata: { reason: "waiting_for_dependency", ticket_ids: ["layout"] },
  }),
  "a review": review(true),
  "a review with a failed check": review(false),
  "a ticket in trouble": turn("error", [...INSTRUCT, "plan"], {
    code: "timeout",
    message: "ticket words is blocked (timeout) after 3 attempts; 3 more are allowed",
    resolution_hint: "answer with a new instruction",
  }),
  "a ticket in trouble that was delivered": turn("error", [...INSTRUCT, "plan", "review"], {
    code: "checks_failed",
    message: "ticket words is blocked (checks_failed) after 3 attempts; 3 more are allowed",
  }),
};

const WORKER = {
  instruction: instruction(),
  "an instruction without steps": instruction({ steps: [] }),
  "steps as plain text": instruction({ steps: ["Choose the words", "Write them"] }),
  "a step with a command": instruction({ steps: [{ text: "Look", command: ["true"] }] }),
  "a step for the shell": instruction({ steps: [{ text: "Look", shell: "echo words" }] }),
  "a step that fails": instruction({ steps: [{ text: "Look", command: ["false"] }] }),
  "a step whose program is missing": instruction({ steps: [{ text: "Look", command: ["no-such-program"] }] }),
  "criteria and resources": instruction({
    resources: ["https://example.org"],
    acceptance_criteria: [{ text: "three words", command: ["true"] }],
  }),
  "work that was sent back": instruction(
    {},
    {
      history: [
        {
          sequence: 20,
          at: "2026-01-01T00:00:00Z",
          event: "changes_requested",
          payload_type: "review",
          attempt: 1,
          payload: { decision: "changes_requested", notes: "Four words" },
        },
      ],
    },
  ),
  "answers to its questions": instruction({}, { clarifications: [{ question: "Which words?", answer: "Short ones" }] }),
  "a proposal": turn("instruction_proposal", ["error", "report"], { summary: "Write the words by hand" }),
  "a proposal with risks": turn("instruction_proposal", ["error", "report"], {
    summary: "Write the words by hand",
    draft_steps: ["Choose", "Write"],
    risks: ["They may be wrong"],
    open_questions: ["Which?"],
  }),
};
