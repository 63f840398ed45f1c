import { describe, expect, it } from "vitest";
import type { TurnRequest, TurnResult } from "../../src/kernel/agent.ts";
import { crew, instructed, report } from "./crew.ts";
import { newRig } from "./rig.ts";
import { withRole } from "./roles.ts";
import { begin, DONE, logOf, reportOf, resume, run } from "./sessions.ts";

const ROLES = withRole("hand", { conversation: "resume", recovery: "resume" });
const USAGE = { input_tokens: 100, output_tokens: 10 };

/** The end of a turn, in the conversation with this id. */
function talked(id: string): TurnResult {
  return { answer: report(), refused: [], usage: USAGE, conversation: { id, tokens: 110, total: USAGE } };
}

describe("a conversation of a program", () => {
  it("goes on when a reviewer asks for changes, and is on record with its usage", async () => {
    const rig = newRig();
    const asked: TurnRequest["conversation"][] = [];
    let reviews = 0;
    const agentFor = crew([instructed("a")], {
      instruction: ({ conversation }) => {
        asked.push(conversation);
        return talked("c1");
      },
      review_request: () => ({
        payload_type: "review",
        payload: (reviews += 1) === 1 ? { decision: "changes_requested", notes: "Again." } : { decision: "approved" },
      }),
    });
    const session = await begin(rig, { agentFor, roles: ROLES });
    expect(await run(session)).toEqual(DONE);
    expect(asked).toEqual([undefined, { how: "resume", id: "c1", tokens: 110, total: USAGE }]);
    const [first] = logOf(rig, session.session_id, "report");
    expect(first?.record).toMatchObject({ usage: USAGE, conversation: { id: "c1", tokens: 110 } });
  });

  it("is resumed after a stop in the middle of a turn", async () => {
    const rig = newRig();
    const asked: TurnRequest["conversation"][] = [];
    const working = Promise.withResolvers<void>();
    const agentFor = crew([instructed("a")], {
      instruction: async ({ conversation }, context) => {
        asked.push(conversation);
        if (asked.length > 1) return talked("c1");
        context.emit({ kind: "conversation", id: "c1" });
        working.resolve();
        return new Promise(() => {});
      },
    });
    const session = await begin(rig, { agentFor, roles: ROLES });
    const ended = run(session);
    await working.promise;
    session.stop("signal", "stopped by the test");
    expect(await ended).toMatchObject({ kind: "stopped" });
    expect(await run(await resume(rig, session.session_id, { agentFor }))).toEqual(DONE);
    expect(asked).toEqual([undefined, { how: "resume", id: "c1" }]);
    const recovered = logOf(rig, session.session_id, "session_recovered");
    expect(recovered).toMatchObject([{ payload: { turns: [{ run: 2, conversation: { id: "c1" } }] } }]);
  });

  it("counts the usage of a turn that failed", async () => {
    const rig = newRig();
    let tries = 0;
    const agentFor = crew([instructed("a")], {
      instruction: () => {
        tries += 1;
        const { answer: _, ...failed } = talked("c1");
        return tries === 1 ? failed : talked("c1");
      },
    });
    const session = await begin(rig, { agentFor, roles: ROLES, config: { retry_backoff_ms: 1 } });
    expect(await run(session)).toEqual(DONE);
    expect(logOf(rig, session.session_id, "turn_failed")).toMatchObject([{ record: { usage: USAGE } }]);
    expect(reportOf(rig, session.session_id)).toMatchObject({ usage: { input_tokens: 200 } });
  });
});
