import type { ProviderAdapter } from "../../../src/harness/provider.ts";
import { adapterContract, type Scenario } from "../adapter-contract.ts";
import { ALL, type Reply, wire } from "./wire.ts";

const ENDS = { stop: "end", length: "length", refusal: "refusal" } as const;

function replyFor(scenario: Scenario): Reply {
  switch (scenario.does) {
    case "answer": {
      const calls = scenario.calls.map(({ name, arguments: written }, index) => ({
        id: String(index),
        name,
        input: index === 0 && written !== "" ? (JSON.parse(written) as { at: string }) : {},
        written,
      }));
      return { said: { text: scenario.text, calls, stop: calls.length > 0 ? "calls" : ENDS[scenario.end] } };
    }
    case "fail":
      return { status: scenario.status, ...(scenario.status === 429 && { headers: { "retry-after": "7" } }) };
    case "hang":
      return { hang: () => scenario.taken() };
  }
}

for (const provider of ALL)
  adapterContract(
    provider,
    async (scenario): Promise<ProviderAdapter> => (await wire(provider, replyFor(scenario))).adapter(),
    { writesArguments: provider !== "gemini" },
  );
