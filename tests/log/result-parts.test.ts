import { expect, it, test } from "vitest";
import { resultParts } from "../../src/log/result-parts.ts";
import { MODES } from "../../src/modes/index.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { type Role, vendorOf } from "../../src/protocol/roles.ts";

const claude = (role_id: string): Role => ({ role_id, type: "participant", cli_command: ["/usr/bin/claude"] });
const ANTHROPIC: Role = { role_id: "cat", type: "participant", backend: "model", provider: "anthropic" };
const CODEX: Role = { role_id: "cat", type: "participant", cli_command: ["codex"] };
const USAGE = { turns: 3, input_tokens: 900, output_tokens: 100, cost_usd: 0.12 };
const IDS = ["ann", "ben", "cat"];

const RESULTS: Readonly<Record<string, JsonObject>> = {
  panel: { decision: "approved", votes: {}, rounds: {}, reviews: IDS.map((role_id) => ({ role_id })) },
  debate: { verdict: { conclusion: "So." }, judge: "dan", rounds: {}, debaters: IDS.map((role_id) => ({ role_id })) },
  council: { summary: "So.", proposals: [], participants: [...IDS, "eve"].map((agent_id) => ({ agent_id })) },
  planning: { plans: IDS.map((role_id) => ({ role_id })) },
};

test.each(Object.entries(RESULTS))("a %s shows its seats, vendors and cost beside the verdict", (mode, result) => {
  const shown = (roles: readonly Role[]) => {
    const presentation = MODES.get(mode)?.reader.presentation;
    const about = { roles: [...roles, claude("dan")], usage: USAGE };
    return presentation && resultParts(presentation, result, about)[0]?.points.at(-1);
  };
  expect(shown([claude("ann"), claude("ben"), ANTHROPIC])).toBe("3 seats, 1 vendor; 1k tokens, $0.12");
  expect(shown([claude("ann"), claude("ben"), CODEX])).toBe("3 seats, 2 vendors; 1k tokens, $0.12");
});

it("is not said of a result that weighs no judgements, or whose roles are unknown", () => {
  const pipeline = MODES.get("pipeline")?.reader.presentation;
  const panel = MODES.get("panel")?.reader.presentation;
  if (!pipeline || !panel) throw new Error("there is no such mode");
  const about = { roles: [claude("ann")], usage: USAGE };
  expect(JSON.stringify(resultParts(pipeline, { output: "So.", steps: [{ role_id: "ann" }] }, about))).not.toContain(
    "seat",
  );
  expect(JSON.stringify(resultParts(panel, RESULTS["panel"] ?? {}, { ...about, roles: [] }))).not.toContain("seat");
});

test.each<[Partial<Role>, string]>([
  [{ cli_command: ["npx", "some-adapter"], dialect: "gemini" }, "google"],
  [{ cli_command: ["claude-code-acp"], backend: "acp" }, "anthropic"],
  [{ cli_command: ["/opt/codex"], dialect: "envelope" }, "openai"],
  [{ backend: "model", provider: "xai" }, "xai"],
  [{ cli_command: ["/opt/own-agent"] }, "own-agent"],
  [{ backend: "scripted" }, "scripted"],
])("the vendor of %j is %s", (role, vendor) => {
  expect(vendorOf({ role_id: "ann", type: "participant", ...role })).toBe(vendor);
});
