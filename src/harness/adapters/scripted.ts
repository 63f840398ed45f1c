import { untilAborted } from "../../lib/time-limit.ts";
import type { AssistantMessage } from "../messages.ts";
import type { ChatRequest, ChatResponse, ProviderAdapter } from "../provider.ts";

/** An answer of a script: its text, or more of the response; a function answers by the request; an error is thrown. */
export type ScriptedAnswer =
  | string
  | (Partial<Omit<ChatResponse, "message">> & Partial<Omit<AssistantMessage, "role">>)
  | Error
  | ((request: ChatRequest) => ScriptedAnswer | Promise<ScriptedAnswer>);

export interface ScriptedAdapter extends ProviderAdapter {
  /** What it was asked, in order. */
  readonly requests: readonly ChatRequest[];
}

/** Answers from a script instead of a model, for tests and demonstrations: one answer for each request, or a function for all. */
export function scriptedAdapter(
  script: readonly ScriptedAnswer[] | ((request: ChatRequest) => ScriptedAnswer),
): ScriptedAdapter {
  const requests: ChatRequest[] = [];
  const answerTo = async (request: ChatRequest): Promise<ChatResponse> => {
    let answer = typeof script === "function" ? script(request) : script[requests.length - 1];
    while (typeof answer === "function") answer = await answer(request);
    if (answer === undefined) throw new Error(`Request ${requests.length} has no answer in the script.`);
    if (answer instanceof Error) throw answer;
    return responseFrom(typeof answer === "string" ? { content: answer } : answer);
  };
  return {
    id: "scripted",
    requests,
    async sendChat(request) {
      requests.push(request);
      return request.signal ? untilAborted(request.signal, () => answerTo(request)) : answerTo(request);
    },
  };
}

function responseFrom({
  content = "",
  toolCalls,
  reasoning,
  ...response
}: Exclude<ScriptedAnswer, string | Error | ((...given: never[]) => unknown)>): ChatResponse {
  const message = {
    role: "assistant",
    content,
    ...(toolCalls ? { toolCalls } : {}),
    ...(reasoning ? { reasoning } : {}),
  } as const;
  return { finishReason: toolCalls ? "toolCalls" : "stop", ...response, message };
}
