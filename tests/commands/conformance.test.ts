import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { casesFor } from "../../src/agents/conformance/cases.ts";
import type { Seat } from "../../src/agents/conformance/case.ts";
import { test as tryCase, type Tested } from "../../src/agents/conformance/trial.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import { value } from "../results.ts";

const EXAMPLES = join(import.meta.dirname, "../../examples/agents");

/** The cases that a program fails, as its problem by name. */
async function failedBy(seat: Seat, command: readonly string[], names?: readonly string[]): Promise<object> {
  const tried = {
    seat,
    command,
    environment: process.env,
    launcher: embeddedLauncher(),
    timeout_ms: 20_000,
  };
  const failed: [string, string][] = [];
  const cases = casesFor(seat).filter(({ name, level }) => names?.includes(name) ?? level === "must");
  for (const one of cases) {
    const { wrong }: Tested = value(await tryCase(tried, one));
    if (wrong !== undefined) failed.push([one.name, wrong]);
  }
  return Object.fromEntries(failed);
}

test("the smallest example conforms", async () => {
  expect(await failedBy("worker", ["sh", join(EXAMPLES, "minimal-worker.sh")])).toEqual({});
});

test("there are at least 40 cases for each seat, each with a name of its own", () => {
  for (const seat of ["manager", "worker"] as const) {
    const names = casesFor(seat).map(({ name }) => name);
    expect(names.length).toBeGreaterThanOrEqual(40);
    expect(new Set(names).size).toBe(names.length);
  }
});

const REPORT = `jq -c '{session_id, source: .payload.role_id, target: "scheduler", payload_type: "report", version: "1.0", payload: {status: "completed"}}'`;

describe("a program that", () => {
  test.each<[string, string, string, string]>([
    [
      "answers without a request",
      `echo '{"session_id":"s-conformance","source":"worker","target":"scheduler","payload_type":"report","version":"1.0","payload":{"status":"completed"}}'`,
      "end of file",
      "nothing was asked",
    ],
    ["exits with 1 after its answer", `head -n 1 | ${REPORT}; exit 1`, "instruction", "exited with 1"],
    [
      "answers twice",
      `read line; echo "$line" | ${REPORT}; echo "$line" | ${REPORT}`,
      "instruction",
      "after its answer",
    ],
    [
      "answers in another name",
      `head -n 1 | ${REPORT.replace(".payload.role_id", '"boss"')}`,
      "instruction",
      "refused",
    ],
    ["says nothing", "cat >/dev/null", "instruction", "no answer"],
    ["ignores SIGTERM", "trap '' TERM; cat >/dev/null; while :; do sleep 0.1; done", "SIGTERM", "SIGTERM"],
  ])("%s fails the case for it", async (_, script, name, problem) => {
    // On a busy machine the signal may come before a program ignores it.
    await expect
      .poll(() => failedBy("worker", ["sh", "-c", script], [name]))
      .toEqual({ [name]: expect.stringContaining(problem) as string });
  });
});
