import type { Conversation, Step } from "./conversation.ts";

/**
 * The answer to a request that is not the work: opencode and claude ask for a title of the conversation, gemini for a classification. The
 * brain is not asked, so that it sees each turn once.
 */
export function sideAnswer(
  { protocol, tools, system, schema, messages }: Conversation,
  streams: boolean,
): Step | undefined {
  if (protocol === "gemini" && !streams) {
    return { answer: { complexity_reasoning: "One small change.", complexity_score: 20, confidence: 1 } };
  }
  // By ACP, claude asks after each turn what the person might type next, and does not tell the tokens of this request.
  if (messages.at(-1)?.text.startsWith("[SUGGESTION MODE")) return { text: "" };
  if (tools.length > 0) return undefined;
  if (protocol === "chat") return { text: "A small change" };
  // `claude --tools ""` sends no tools either, so only the words tell.
  if (protocol === "anthropic" && schema === undefined && /\btitle\b/i.test(system)) {
    return { answer: { title: "A small change" } };
  }
  return undefined;
}
