import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { tooLongToStart } from "../../src/protocol/command-size.ts";
import { validatePayload } from "../../src/protocol/envelope.ts";
import { loadPlanFile } from "../../src/config/plan-file.ts";
import { loadRoles } from "../../src/config/roles.ts";
import { errorOf, problemsOf, scratch } from "../config/scratch.ts";

const MOST = 131_071;
/** Fits the limit in characters. */
const LONG = "漢".repeat(90_000);

describe("what no program can be started with", () => {
  test.runIf(process.platform === "linux")("is what the system refuses", () => {
    for (const [length, code] of [
      [MOST, undefined],
      [MOST + 1, "E2BIG"],
    ] as const) {
      const argument = "x".repeat(length);
      const { error } = spawnSync("true", [argument]);
      expect(error && "code" in error ? error.code : undefined).toBe(code);
      expect(tooLongToStart({ command: ["true", argument] })?.pointer).toBe(code && "/command/1");
    }
  });

  test("is named where it is", () => {
    const criteria = [{ text: "c", command: ["true"] }, { command: ["true", LONG] }];
    expect(tooLongToStart({ tasks: [{ acceptance_criteria: criteria }] })?.pointer).toBe(
      "/tasks/0/acceptance_criteria/1/command/1",
    );
    expect(tooLongToStart({ steps: ["a", { shell: LONG }] })?.pointer).toBe("/steps/1/shell");
    expect(tooLongToStart({ env: { KEY: LONG } })?.pointer).toBe("/env/KEY");
    const many = Array.from({ length: 500 }, () => "x".repeat(5_000));
    expect(tooLongToStart({ command: many })?.pointer).toBe("/command");
    expect(tooLongToStart({ summary: LONG, command: "as typed", env: ["A"] })).toBeUndefined();
  });

  test("is refused in a plan file, a role and an agent's message", async () => {
    const place = scratch();
    const criterion = { text: "c", command: ["test", "-n", LONG] };
    const task = { task_id: "a", description: "A", acceptance_criteria: [criterion] };
    const plan = place.write("plan.json", JSON.stringify({ tasks: [task] }));
    expect(problemsOf(errorOf(await loadPlanFile(plan)))).toEqual([
      [expect.any(String), expect.stringContaining("bytes")],
    ]);
    const role = { role_id: "a", type: "worker", cli_command: ["run", LONG] };
    const roles = place.write("roles.json", JSON.stringify({ roles: [role] }));
    expect(problemsOf(errorOf(await loadRoles([], [roles])))).toHaveLength(1);
    expect(errorOf(validatePayload("plan", { tasks: [task] }))).toMatchObject({
      code: "validation_failed",
      pointer: "/tasks/0/acceptance_criteria/0/command/2",
    });
    const instruction = { summary: "s", steps: [{ shell: LONG }] };
    expect(errorOf(validatePayload("instruction", instruction)).pointer).toBe("/steps/0/shell");
    // What was run elsewhere is only told.
    const evidence = [{ text: "ran", command: ["test", "-n", LONG] }];
    expect(validatePayload("report", { status: "completed", summary: "s", evidence }).ok).toBe(true);
  });
});
