import type { Json, JsonObject } from "../../src/lib/json.ts";
import { fitted } from "./answers.ts";
import { type Action, type Conversation, type Message, type Model, type Step } from "./conversation.ts";

/** A turn, as its prompt tells it (config/prompts/turn.md). */
export interface Turn {
  readonly session_id: string;
  readonly turn_id: string;
  readonly role_id: string;
  readonly ticket_id: string;
  /** The payload types that may answer. */
  readonly types: readonly string[];
  /** The whole prompt. */
  readonly text: string;
}

/** What a manager says, where it is not the usual. */
export interface ManagerPart {
  readonly tasks: readonly JsonObject[];
  /** It asks these before it plans. */
  readonly questions?: readonly JsonObject[];
  readonly instruct?: (turn: Turn) => JsonObject;
  readonly review?: (turn: Turn) => JsonObject;
}

/** The newest turn of a conversation, or nothing if Bosun gave none. */
export function turnOf({ messages }: Conversation): Turn | undefined {
  const text = messages.findLast(({ from, text }) => from === "user" && TURN.test(text))?.text ?? "";
  const [, session_id = "", turn_id = "", ticket_id = ""] = TURN.exec(text) ?? [];
  if (turn_id === "") return undefined;
  const role_id = /^You are .*\(`([^`]+)`\)/m.exec(text)?.[1] ?? "";
  const types = /^End with one answer of one of these types: ([a-z_, ]+)\./m.exec(text)?.[1]?.split(", ") ?? [];
  return { session_id, turn_id, role_id, ticket_id, types, text };
}

const TURN = /^- Session `([^`]+)`, turn `([^`]+)`(?:, ticket `([^`]+)`)?/m;

/** What was said since a turn was first put, also if its prompt came once more. */
export function sinceTurn({ messages }: Conversation, { turn_id }: Turn): readonly Message[] {
  return messages.slice(messages.findIndex(({ from, text }) => from === "user" && TURN.exec(text)?.[2] === turn_id));
}

/** The step that gives a turn's answer in the form that its prompt asks for. */
export function answering(conversation: Conversation, payload_type: string, payload: JsonObject, text = ""): Step {
  return { text, answer: fitted({ payload_type, [payload_type]: payload }, conversation.schema) };
}

/** Clarifies if it has questions, plans, instructs and approves. */
export function manager({ tasks, questions = [], instruct, review }: ManagerPart): Model {
  return (conversation) => {
    const turn = turnOf(conversation);
    if (turn === undefined) return { text: "I know no turn." };
    const answer = (type: string, payload: JsonObject) => answering(conversation, type, payload, `I give the ${type}.`);
    if (turn.types.includes("plan")) {
      const isClear = questions.length === 0 || turn.text.includes("## What was clarified");
      if (!isClear) return answer("clarification", { questions, status: "open" });
      return answer("plan", { summary: `${tasks.length} tasks.`, tasks });
    }
    if (turn.types.includes("review")) return answer("review", review?.(turn) ?? { decision: "approved" });
    const usual = { summary: `Do ${turn.ticket_id}.`, steps: [`Do what ${turn.ticket_id} says.`] };
    return answer("instruction", instruct?.(turn) ?? usual);
  };
}

/** Does the actions of its ticket one after the other, then reports. */
export function worker(actions: (turn: Turn) => readonly Action[], report: (turn: Turn) => JsonObject = done): Model {
  return (conversation) => {
    const turn = turnOf(conversation);
    if (turn === undefined) return { text: "I know no turn." };
    const results = sinceTurn(conversation, turn).filter(({ from }) => from === "tool");
    const next = actions(turn)[results.length];
    if (next !== undefined) return { text: `Step ${results.length + 1}.`, act: [next] };
    const evidence: Json[] = results.map(({ text }) => ({ text: text.slice(0, 200) }));
    return answering(conversation, "report", { evidence, ...report(turn) }, "The work is done.");
  };
}

function done({ ticket_id }: Turn): JsonObject {
  return { status: "completed", summary: `${ticket_id} is done.` };
}

/** A manager's and a worker's brain behind one server, told apart by what the turn expects. */
export function crew(manages: Model, works: Model): Model {
  return (conversation) => (turnOf(conversation)?.types.includes("report") ? works : manages)(conversation);
}
