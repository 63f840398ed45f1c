import { describe, expect, it } from "vitest";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { pipelineMode } from "../../src/modes/pipeline/mode.ts";
import { CONFIGURATION_DEFAULTS } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { Surroundings } from "../../src/runtime/assemble.ts";
import { createSession } from "../../src/runtime/create.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { value } from "../results.ts";
import { newRig } from "./rig.ts";
import { DONE, logOf, type Rig, surroundings } from "./sessions.ts";

const ROLES: readonly Role[] = ["ann", "bob"].map((role_id) => ({ role_id, type: "participant", backend: "scripted" }));
const FACTS = "zebra\n便宜 $& {task}\nant";

/** A pipeline of two steps, of which the first has a transform. */
async function begin(rig: Rig, transform: JsonObject, functions?: Surroundings["functions"], said = FACTS) {
  const told: unknown[] = [];
  const agent = scriptedAgent(({ role, payload }) => {
    told.push(payload.message.payload["summary"]);
    return {
      payload_type: "report",
      payload: { status: "completed", summary: role.role_id === "ann" ? said : "Done." },
    };
  });
  const around = { ...surroundings(rig, { agentFor: () => agent }), ...(functions ? { functions } : {}) };
  const first = { role: "ann", transform, on_error: "abort" };
  const session = await createSession(around, pipelineMode, {
    session_id: "p-1",
    input: { task: "Sort.", steps: [first, { role: "bob", task_template: "{prev_result}" }] },
    config: { ...CONFIGURATION_DEFAULTS, plan_approval: "never", workspace: rig.workspace, budget: {} },
    roles: ROLES,
    workspace: rig.workspace,
    started_by: { user: "ada", host: "here", via: "test" },
    facts: [],
  });
  return { session: value(session), told, around };
}

/** Runs it; returns how it ended, what the second step was told, and what came of the transform. */
async function run(transform: JsonObject, functions?: Surroundings["functions"], said?: string) {
  const rig = newRig();
  const { session, told } = await begin(rig, transform, functions, said);
  const end = value(await session.run({ waitForPeople: false }));
  const results = logOf(rig, "p-1", "check_result").flatMap(({ payload }) => payload["results"] as JsonObject[]);
  return { end, told: told[1], results };
}

const FAILED = { kind: "closed", outcome: "failed" };

describe("a transform that is a program", () => {
  it("reads the result and nothing else, and what it prints on stdout alone is handed on", async () => {
    const command = ["sh", "-c", "sort; echo complaint >&2"];
    const { end, told, results } = await run({ command });
    expect([end, told]).toEqual([DONE, "ant\nzebra\n便宜 $& {task}"]);
    expect(results).toMatchObject([
      { criterion: { text: "the transform of 1-ann", command }, exit_code: 0, passed: true },
    ]);
  });

  it("gets a result that is longer than a pipe holds", async () => {
    const { told } = await run({ command: ["wc", "-c"] }, undefined, "x".repeat(199_000));
    expect(told).toBe("199000");
  });

  it("may leave its input unread", async () => {
    expect(await run({ command: ["echo", "hello"] }, undefined, "x".repeat(199_000))).toMatchObject({ told: "hello" });
  });

  it.each([
    ["exits with another code", ["sh", "-c", "echo no good; exit 3"], "no good", 3],
    ["prints nothing", ["true"], "", 0],
    ["is not there", ["no-such-program"], "no-such-program", 127],
  ])("and %s fails its step", async (_, command, output, exit_code) => {
    const { end, told, results } = await run({ command });
    expect([end, told]).toMatchObject([FAILED, undefined]);
    expect(results).toMatchObject([{ exit_code, output: expect.stringContaining(output) }]);
  });

  it("and prints more than a text may have fails its step", async () => {
    const { end, results } = await run({ command: ["sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"] });
    expect([end, results]).toMatchObject([FAILED, [{ passed: false, output: "It made more than 262144 bytes." }]]);
  });

  it("and takes too long is ended", async () => {
    const { end, results } = await run({ command: ["sleep", "60"], timeout_s: 0.2 });
    expect([end, results]).toMatchObject([FAILED, [{ passed: false, timed_out: true }]]);
  });
});

describe("a transform that is a function", () => {
  it("makes the text in the program that runs the session, and the record needs it no more", async () => {
    const { end, told, results } = await run({ function: "upper" }, { upper: async (text) => text.toUpperCase() });
    expect([end, told]).toEqual([DONE, FACTS.toUpperCase()]);
    expect(results).toMatchObject([{ criterion: { text: "the transform of 1-ann" }, exit_code: null, passed: true }]);
  });

  it.each([
    ["is not there", "upper", { lower: (text: string) => text }, 'has no function "upper". It has: lower.'],
    ["has a name of every object", "toString", undefined, 'has no function "toString". It has: none.'],
    ["throws", "upper", { upper: () => Promise.reject(new Error("Not today.")) }, "Not today."],
    ["returns no text", "upper", { upper: (() => 7) as unknown as () => string }, "returned no text"],
    ["makes too much", "upper", { upper: () => "x".repeat(300_000) }, "made more than 262144 bytes"],
  ])("and %s fails its step", async (_, name, functions, output) => {
    const { end, results } = await run({ function: name }, functions);
    expect([end, results]).toMatchObject([FAILED, [{ passed: false, output: expect.stringContaining(output) }]]);
  });

  it("is called again when the session is resumed before it has ended", async () => {
    const rig = newRig();
    const called = Promise.withResolvers<void>();
    const upper = () => {
      called.resolve();
      return new Promise<string>(() => {});
    };
    const { session, around } = await begin(rig, { function: "upper" }, { upper });
    const ended = session.run({ waitForPeople: false });
    await called.promise;
    session.stop("signal", "It was stopped.");
    expect(value(await ended)).toMatchObject({ kind: "stopped" });
    const again = { ...around, functions: { upper: (text: string) => text.toUpperCase() } };
    const resumed = value(await resumeSession(again, pipelineMode, value(rig.store.session("p-1"))));
    expect(value(await resumed.run({ waitForPeople: false }))).toEqual(DONE);
  });
});
