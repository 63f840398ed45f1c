import { expect, it, test } from "vitest";
import { instant, milliseconds } from "../../src/protocol/timestamp.ts";
import { priced } from "../../src/runtime/turns/reported.ts";
import { crew, instructed, report } from "./crew.ts";
import { newRig } from "./rig.ts";
import { withRole } from "./roles.ts";
import { begin, DONE, logOf, reportOf, run } from "./sessions.ts";

it("holds an account at its reserve until the reset", async () => {
  const rig = newRig();
  const resets_at = instant(Date.now() + 1_500);
  const quota = [{ name: "5h", used_percent: 85, resets_at }];
  const usage = { input_tokens: 1_000, output_tokens: 500 };
  const agentFor = crew([instructed("a"), instructed("b")], {
    instruction: () => ({ answer: report(), usage, quota, refused: [] }),
  });
  const roles = withRole("hand", { account: "acme", max_instances: 1, price: { input_usd: 2, output_usd: 4 } });
  const session = await begin(rig, {
    agentFor,
    roles,
    config: { accounts: { acme: { reserve: 20 } }, max_workers: 1 },
  });
  expect(await run(session)).toEqual(DONE);
  const [first, second] = logOf(rig, session.session_id, "turn_request").filter(({ target }) => target === "hand");
  expect(milliseconds(first?.timestamp ?? "")).toBeLessThan(milliseconds(resets_at));
  expect(milliseconds(second?.timestamp ?? "")).toBeGreaterThanOrEqual(milliseconds(resets_at));
  expect(logOf(rig, session.session_id, "report")[0]?.record).toMatchObject({
    quota,
    usage: { ...usage, computed: true },
  });
  expect(reportOf(rig, session.session_id)).toMatchObject({
    usage: {
      by_role: [
        { role_id: "boss" },
        { role_id: "hand", turns: 2, input_tokens: 2_000, cost_usd: 0.008, computed: true },
      ],
    },
  });
});

const PRICE = { input_usd: 2, cached_usd: 1, output_usd: 4 };

test.each([
  ["computes a cost", PRICE, { input_tokens: 3_000_000, cached_tokens: 1_000_000, output_tokens: 500_000 }, 7],
  [
    "takes cached input for other input",
    { input_usd: 2, output_usd: 4 },
    { input_tokens: 2, cached_tokens: 2, output_tokens: 0 },
    4e-6,
  ],
  ["keeps a cost that is told", PRICE, { input_tokens: 1, output_tokens: 1, cost_usd: 3 }, 3],
  ["leaves the cost unknown without all tokens", PRICE, { input_tokens: 1 }, undefined],
])("a price %s", (_, price, usage, cost_usd) => {
  expect(priced(usage, { price })?.cost_usd).toBe(cost_usd);
});
