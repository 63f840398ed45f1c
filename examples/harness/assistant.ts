// An assistant with tools whose answer is shown as it comes.
import { functionTools, type ProviderAdapter, TurnRunner } from "bosun/harness";

const tools = functionTools({
  add: {
    description: "Adds numbers.",
    parameters: {
      type: "object",
      properties: { numbers: { type: "array", items: { type: "number" } } },
      required: ["numbers"],
      additionalProperties: false,
    },
    run({ numbers }) {
      // The model reads this error and corrects itself.
      if (!Array.isArray(numbers)) throw new Error("numbers must be a list.");
      return numbers.reduce((sum, number) => sum + Number(number), 0);
    },
  },
});

export async function assistant(
  adapter: ProviderAdapter,
  model: string,
  question: string,
  show: (text: string) => void,
) {
  const systemPrompts = [{ role: "system", content: "Use your tools for every calculation." }] as const;
  const runner = new TurnRunner({ name: "assistant", adapter, model, systemPrompts }, { maxSteps: 5 });
  for await (const chunk of runner.streamTurn([], question, { tools })) {
    if (chunk.type === "text") show(chunk.text);
    if (chunk.type === "toolResult")
      show(`[${chunk.record.name}: ${chunk.record.error ?? JSON.stringify(chunk.record.result)}]\n`);
    if (chunk.type === "turn") return chunk.result;
  }
  throw new Error("The turn did not end.");
}
