import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { SessionEvent } from "../../src/runtime/bus.ts";
import { callHooks } from "../../src/runtime/hooks.ts";
import type { Session } from "../../src/runtime/session.ts";
import { crew, instructed, report, type Script } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, type Choices, DONE, type Rig, run } from "./sessions.ts";

/** Says that it failed the first time. */
function failsOnce(): Script {
  let failed = false;
  return () => {
    if (failed) return report();
    failed = true;
    return { payload_type: "error", payload: { code: "agent_failed", message: "No." } };
  };
}

const EXPECTED = [
  "on_agent_start boss",
  "on_agent_finish boss plan",
  "on_agent_start hand a",
  "on_error hand a No.",
  "on_agent_start hand a",
  "on_agent_finish hand report a",
  "on_agent_start boss a",
  "on_agent_finish boss review a",
  "on_step_complete a done 1",
];

/** A call of a hook in a line. */
function lineOf({ event, agent, task, result, error, step, state }: JsonObject): string {
  const { subject, payload_type, message } = (task ?? result ?? error ?? {}) as JsonObject;
  const { id, status } = (step ?? {}) as JsonObject;
  const done = ((state ?? {}) as { statuses?: Record<string, number> }).statuses?.["done"];
  const parts = error ? [event, agent, subject, message] : [event, agent, payload_type, subject, id, status, done];
  return parts.flatMap((part) => (part === undefined ? [] : String(part as string | number))).join(" ");
}

function warnings(session: Pick<Session<unknown>, "bus">): string[] {
  const texts: string[] = [];
  session.bus.subscribe((event: SessionEvent) => event.kind === "warning" && texts.push(event.text));
  return texts;
}

const agents = () => crew([instructed("a")], { instruction: failsOnce() });
const hooked = (hooks: JsonObject): Choices => ({
  agentFor: agents(),
  config: { hooks },
});

function told(rig: Rig): JsonObject[] {
  const file = join(rig.workspace, "told");
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as JsonObject);
}

describe("hooks of a host", () => {
  it("are called in order for starts, answers, failures and completed steps", async () => {
    const session = await begin(newRig(), { agentFor: agents() });
    const lines: string[] = [];
    callHooks(session, {
      on_agent_start: (agent, task) => lines.push(lineOf({ event: "on_agent_start", agent, task: { ...task } })),
      on_agent_finish: (agent, result) =>
        lines.push(lineOf({ event: "on_agent_finish", agent, result: { ...result } })),
      on_step_complete: (step, state) =>
        lines.push(lineOf({ event: "on_step_complete", step: { ...step }, state: { ...state } })),
      on_error: (agent, error) => lines.push(lineOf({ event: "on_error", agent, error: { ...error } })),
    });
    expect(await run(session)).toMatchObject(DONE);
    await expect.poll(() => lines).toEqual(EXPECTED);
  });

  it("that throw are a warning each, and change nothing", async () => {
    const session = await begin(newRig(), { agentFor: agents() });
    const texts = warnings(session);
    callHooks(session, {
      on_agent_start: () => {
        throw new Error("The host has no time.");
      },
      on_step_complete: async () => Promise.reject(new Error("Nor later.")),
    });
    expect(await run(session)).toMatchObject(DONE);
    await expect.poll(() => texts.at(-1)).toContain("The hook on_step_complete failed: Nor later.");
    expect(texts[0]).toContain("The hook on_agent_start failed: The host has no time.");
  });
});

describe("hooks of the settings", () => {
  it("are commands that get each call as a line of JSON, one at a time, before the session ends", async () => {
    const rig = newRig();
    const keep = ["sh", "-c", "test ! -e busy && touch busy; cat >>told; rm busy"];
    const names = ["on_agent_start", "on_agent_finish", "on_step_complete", "on_error"];
    const session = await begin(rig, hooked(Object.fromEntries(names.map((name) => [name, keep]))));
    const texts = warnings(session);
    expect(await run(session)).toMatchObject(DONE);
    expect(told(rig).map(lineOf)).toEqual(EXPECTED);
    expect(told(rig).every(({ session_id }) => session_id === session.session_id)).toBe(true);
    expect(texts).toEqual([]);
  });

  it("that fail or are missing are told, and the session goes on", async () => {
    const rig = newRig();
    const session = await begin(
      rig,
      hooked({ on_agent_start: ["no-such-program"], on_step_complete: ["sh", "-c", "echo 'no disk' >&2; exit 3"] }),
    );
    const texts = warnings(session);
    expect(await run(session)).toMatchObject(DONE);
    expect(texts[0]).toMatch(/The hook on_agent_start failed: "no-such-program" .*goes on/);
    expect(texts.at(-1)).toMatch(/The hook on_step_complete failed: "sh" exited with code 3, saying: no disk/);
  });
});
