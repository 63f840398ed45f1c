import { expect, test } from "vitest";
import { couldNotStart } from "../../src/agents/cannot-start.ts";
import { turnResult } from "../../src/agents/cli/outcome.ts";
import type { RunEnd } from "../../src/agents/cli/process.ts";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import { ROOT, SPEC } from "./spec.ts";

const REQUEST = {
  role: { role_id: "worker", type: "worker" },
  payload: { expects: ["report"] },
} as unknown as TurnRequest;
const LIMITS = { timeout_ms: 1, idle_timeout_ms: 1, answer_grace_ms: 1, kill_grace_ms: 1, max_output_bytes: 1 };
const HEARD = {
  answer: undefined,
  refused: [{ code: "validation_failed", message: "No.", pointer: "/payload", payload_type: "report", excerpt: "{}" }],
  stderr_tail: "oops",
} as const;

/** Ways a turn can end: exited well or badly, or ended by Bosun, gone or not yet gone. */
const ENDS: readonly Omit<RunEnd, "spoke">[] = [
  { cause: "exited", exit: { code: 0, signal: null } },
  { cause: "exited", exit: { code: 1, signal: null } },
  { cause: "idle_timeout", exit: { code: null, signal: "SIGTERM" } },
  { cause: "timeout" },
];

test("SPEC.md names every detail of a failed turn", () => {
  const failures = ENDS.map((end) => turnResult(REQUEST, LIMITS, { ...end, spoke: true }, HEARD).failure);
  const unstarted = couldNotStart({ command: ["./agent"], directory: ROOT, environment: {} }, new Error("No."));
  const details = new Set([...failures, unstarted].flatMap((one) => Object.keys(one?.details ?? {})));
  expect(details).toContain("outlived_kill");
  const part = SPEC.slice(SPEC.indexOf("\n### 5.6 "), SPEC.indexOf("\n## 6. "));
  expect([...details].filter((name) => !part.includes(`\`${name}\``))).toEqual([]);
});
