import { expect, test } from "vitest";
import type { TurnResult } from "../../src/kernel/agent.ts";
import { failure } from "../../src/protocol/failure.ts";
import { instant } from "../../src/protocol/timestamp.ts";
import { crew, instructed, report } from "./crew.ts";
import { newRig } from "./rig.ts";
import { withRole } from "./roles.ts";
import { begin, DONE, logOf, reportOf, run } from "./sessions.ts";

const ROLES = withRole("hand", { conversation: "resume", recovery: "resume" });

test.each<[string, Partial<TurnResult>]>([
  ["half a token", { usage: { input_tokens: 1.5, output_tokens: 1e300 } }],
  ["an infinite cost", { usage: { cost_usd: Number.POSITIVE_INFINITY, input_tokens: -1 } }],
  ["a long id", { conversation: { id: "x".repeat(5_000) } }],
  ["half a character", { conversation: { id: "\ud800", tokens: 1.5 } }],
  ["a long window", { quota: [{ name: "x".repeat(500), used_percent: 200, resets_at: instant(1e18) }] }],
])("a program that tells %s does not end the session", async (_, told) => {
  const rig = newRig();
  const agentFor = crew([instructed("a")], {
    instruction: (_request, context) => {
      if (told.conversation) context.emit({ kind: "conversation", id: told.conversation.id });
      return { answer: report(), refused: [], ...told };
    },
  });
  expect(await run(await begin(rig, { agentFor, roles: ROLES }))).toEqual(DONE);
});

test("a failure in a program's own words is recorded, whatever they are", async () => {
  const rig = newRig();
  let tries = 0;
  const agentFor = crew([instructed("a")], {
    instruction: () => {
      tries += 1;
      if (tries > 1) return report();
      return { failure: failure("agent_failed", `\ud800${"x".repeat(1_000_000)}`, { hint: "\udfff" }), refused: [] };
    },
  });
  const session = await begin(rig, { agentFor, roles: ROLES, config: { retry_backoff_ms: 1 } });
  expect(await run(session)).toEqual(DONE);
  expect(logOf(rig, session.session_id, "turn_failed")).toHaveLength(1);
  expect(reportOf(rig, session.session_id)).toMatchObject({ outcome: "done" });
});
