import { TurnRunner } from "../../harness/turn-runner.ts";
import type { Usage } from "../../harness/usage.ts";
import { type ModelAddress, type ModelChoice, addressFrom } from "../../harness/providers.ts";
import { type FinishReason, type ModelConfig, type Participant, ProviderError } from "../../harness/provider.ts";
import type { AgentFile } from "../../config/agent-files.ts";
import { defined } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { schemaIn } from "../../protocol/content-schema.ts";
import { failure, type Fallible } from "../../protocol/failure.ts";
import { EXIT_FAILED } from "../../runtime/exit.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { failedEvent, tellFailure } from "../context/exit-code.ts";

/** Where the model of this environment is, with what is chosen for it. Failure `environment` with the variable that is missing. */
export function addressHere({ environment }: CommandContext, choice: ModelChoice = {}): Fallible<ModelAddress> {
  const address = addressFrom(environment, choice);
  if (address.ok) return address;
  const hint = "LLM_PROVIDER, LLM_MODEL and LLM_BASE_URL say which model is asked. To see what is set: bosun models";
  return err(failure("environment", address.error, { hint }));
}

/** Which model an agent names; the environment has the rest. */
export function choiceOf({ provider, model, structured_output: structuredOutput }: AgentFile): ModelChoice {
  return defined({ provider, model, structuredOutput });
}

/** An agent as a model is told it. */
export function partOf({ name, system_prompt, output_schema, temperature, max_output_tokens }: AgentFile): Part {
  const form = typeof output_schema === "object" ? JSON.stringify(output_schema) : (output_schema ?? "");
  const bare = schemaIn(output_schema)
    ? ", a JSON Schema: it is bare JSON, without a fence and without other words"
    : "";
  const told = form === "" ? "" : `\n\nYour answer has this form${bare}:\n\n${form}`;
  const config = defined({ temperature, maxOutputTokens: max_output_tokens });
  return { name, system: `${system_prompt}${told}`, config };
}

export interface Part {
  readonly name: string;
  readonly system: string;
  readonly config?: ModelConfig;
}

/** Somebody that this model plays. Its provider's package is loaded here. */
export async function participantAt(address: ModelAddress, { name, system, config = {} }: Part): Promise<Participant> {
  const { providerAdapter } = await import("../../harness/provider-adapter.ts");
  return {
    name,
    adapter: await providerAdapter(address),
    model: address.model,
    systemPrompts: [{ role: "system", content: system }],
    modelConfig: config,
  };
}

/** Ends a command whose work has failed, with 1. */
export function failed({ terminal }: CommandContext, message: string, json: boolean | undefined): Exit {
  const why = failure("agent_failed", message, { hint: "Try again, or name another model: LLM_MODEL." });
  tellFailure(terminal, why);
  if (json === true) failedEvent(terminal, why, EXIT_FAILED);
  return ok(EXIT_FAILED);
}

/** Does what asks a model. A failure of its provider ends the command with 1. */
export async function asking(
  context: CommandContext,
  json: boolean | undefined,
  work: () => Promise<Exit>,
): Promise<Exit> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderError) return failed(context, error.message, json);
    throw error;
  }
}

/** One answer of somebody to a prompt, whose lines are shown as they come. */
export async function streamedAnswer(
  participant: Participant,
  prompt: string,
  show: (line: string) => void,
): Promise<{ readonly text: string; readonly finish: FinishReason; readonly usage: Usage }> {
  let open = "";
  for await (const chunk of new TurnRunner(participant).streamTurn([], prompt)) {
    if (chunk.type === "text") {
      const lines = `${open}${chunk.text}`.split("\n");
      open = lines.pop() ?? "";
      lines.forEach(show);
    } else if (chunk.type === "turn") {
      if (open !== "") show(open);
      const { message, finishReason: finish, usage } = chunk.result;
      return { text: message.content, finish, usage };
    }
  }
  throw new Error("A turn ended without its result: this is a bug.");
}
