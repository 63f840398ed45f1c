import { objectOf } from "../../src/lib/json.ts";
import { callFor } from "./actions.ts";
import type { Conversation, Said, Step, TokenCount } from "./conversation.ts";

let messages = 0;

/** The message of a step, or nothing if the step has none. */
export function saidBy(step: Step, conversation: Conversation, usage: TokenCount): Said | undefined {
  if ("status" in step || "hang" in step) return undefined;
  messages += 1;
  const id = String(messages).padStart(4, "0");
  const said = { id, model: conversation.model, text: "", reasoning: "", calls: [], usage };
  if ("refuse" in step) return { ...said, text: step.refuse, stop: "refusal" };
  if ("cut_off" in step) return { ...said, text: step.cut_off, stop: "length" };
  if ("drop" in step) return { ...said, text: step.drop, stop: "end" };
  if ("stream_error" in step) return { ...said, stop: "end" };
  if ("answer" in step) {
    const { text = "", answer } = step;
    const byTool = conversation.protocol === "anthropic" && conversation.schema !== undefined;
    // With a schema the text is the answer alone; without one a model says something around it.
    const before = text === "" || conversation.schema !== undefined ? "" : `${text}\n\n`;
    if (!byTool) return { ...said, text: `${before}${JSON.stringify(answer)}`, stop: "end" };
    return { ...said, text, calls: [{ id, name: "StructuredOutput", input: objectOf(answer) }], stop: "calls" };
  }
  const { text = "", reasoning = "", act = [] } = step;
  const calls = act.map((action, index) => ({ id: `${id}_${index}`, ...callFor(action, conversation.tools) }));
  return { ...said, text, reasoning, calls, stop: calls.length > 0 ? "calls" : "end" };
}
