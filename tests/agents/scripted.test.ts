import { NO_SECRETS } from "../../src/lib/withholder.ts";
import { describe, expect, test } from "vitest";
import { type ScriptedHandler, scriptedAgent } from "../../src/agents/scripted.ts";
import type { Answer, TurnContext, TurnEvent, TurnRequest } from "../../src/kernel/agent.ts";

const REQUEST: TurnRequest = {
  session_id: "s-1",
  at: "2026-01-02T03:04:05Z",
  role: { role_id: "worker", type: "worker" },
  stamp: { turn_id: "t1", attempt: 1, run: 1 },
  payload: {
    turn_id: "t1",
    role_id: "worker",
    expects: ["report"],
    message: { payload_type: "instruction", payload: {} },
    context: {},
    workspace: "/w",
    artifacts_dir: "/a",
  },
  timeout_ms: 5_000,
  idle_timeout_ms: 0,
  slot: 0,
  output_directory: "/o",
};
const ANSWER: Answer = { payload_type: "report", payload: { status: "completed" } };

function turn(
  handler: ScriptedHandler,
  more: { signal?: AbortSignal; timeout_ms?: number; events?: TurnEvent[] } = {},
) {
  const context: TurnContext = {
    signal: more.signal ?? new AbortController().signal,
    started: () => Promise.reject(new Error("there is no process to record")),
    emit: (event) => more.events?.push(event),
    secrets: NO_SECRETS,
    permit: async () => ({ granted: false }),
  };
  return scriptedAgent(handler).turn({ ...REQUEST, timeout_ms: more.timeout_ms ?? REQUEST.timeout_ms }, context);
}

const forever = () => new Promise<Answer>(() => {});

describe("a scripted agent", () => {
  test("answers with the result of its handler, at once or later", async () => {
    expect(await turn(() => ANSWER)).toEqual({ answer: ANSWER, refused: [] });
    expect(
      await turn((request) => Promise.resolve({ ...ANSWER, payload: { status: request.stamp.turn_id } })),
    ).toMatchObject({
      answer: { payload: { status: "t1" } },
    });
  });

  test("passes on a whole result, and the events before it", async () => {
    const result = { failure: { code: "timeout" as const, message: "Too late." }, refused: [] };
    const events: TurnEvent[] = [];
    const said: TurnEvent = { kind: "console", stream: "stdout", text: "hm" };
    const handler: ScriptedHandler = (_, context) => {
      context.emit(said);
      return result;
    };
    expect(await turn(handler, { events })).toBe(result);
    expect(events).toEqual([said]);
  });

  test("gives agent_failed when its handler throws or rejects", async () => {
    const thrown = await turn(() => {
      throw new Error("no idea");
    });
    expect(thrown.failure).toMatchObject({
      code: "agent_failed",
      message: "The script of role worker failed: no idea",
    });
    expect((await turn(() => Promise.reject(new Error("later")))).failure?.code).toBe("agent_failed");
  });

  test("does not call its handler when its turn is already cancelled", async () => {
    let asked = false;
    const result = await turn(
      () => {
        asked = true;
        return ANSWER;
      },
      { signal: AbortSignal.abort() },
    );
    expect(result.failure?.code).toBe("cancelled");
    expect(asked).toBe(false);
  });

  test("ends when its turn is cancelled or its time is over", async () => {
    const abort = new AbortController();
    const running = turn(forever, { signal: abort.signal });
    abort.abort();
    expect((await running).failure?.code).toBe("cancelled");
    expect((await turn(forever, { timeout_ms: 20 })).failure?.code).toBe("timeout");
  });
});
