import { expect, test } from "vitest";
import { conversationFor } from "../../src/kernel/conversations.ts";
import { put } from "../../src/kernel/ledger.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { fact, play, sessionWith, sessionWithTurn, STAMP, TURN } from "./session.ts";

const ROLE: Role = { role_id: "hand", type: "worker", conversation: "resume", max_conversation_tokens: 1_000 };
const COMMON = { id: "plan", tokens: 400 };
const ABOUT_A = { id: "a", tokens: 900, total: { input_tokens: 70 } };
const LEDGER = sessionWith([
  put("conversation", "hand", COMMON),
  put("conversation", "hand/a", ABOUT_A),
  put("conversation", "hand/b", { id: "b", tokens: 1_001 }),
]).ledger;

test.each<[string, object, Partial<Role>, boolean, object | undefined]>([
  ["resumes what was said about the same subject", { subject: "a" }, {}, false, { how: "resume", ...ABOUT_A }],
  ["is new above max_conversation_tokens", { subject: "b" }, {}, false, undefined],
  ["is new for another subject", { subject: "c" }, {}, false, undefined],
  [
    "forks the common one for a new subject",
    { subject: "c" },
    { conversation: "fork" },
    false,
    { how: "fork", ...COMMON },
  ],
  ["resumes its own with fork, too", { subject: "a" }, { conversation: "fork" }, false, { how: "resume", ...ABOUT_A }],
  ["is new with fresh", { subject: "a" }, { conversation: "fresh" }, false, undefined],
  ["stands alone for a review", { subject: "a" }, {}, true, { how: "alone" }],
  [
    "resumes an interrupted run",
    { subject: "a", ...cutShort("own") },
    { conversation: "fresh" },
    true,
    { how: "resume", id: "own" },
  ],
  ["restarts an interrupted run", { ...cutShort("own"), subject: "c" }, { recovery: "restart" }, false, undefined],
  ["is new after a run of another role", { ...cutShort("own"), role_id: "eye", subject: "c" }, {}, false, undefined],
])("the conversation of a turn %s", (_, turn, role, alone, chosen) => {
  expect(conversationFor(LEDGER, { ...TURN, ...turn }, { ...ROLE, ...role }, alone)).toEqual(chosen);
});

test("a role without a policy has no conversation, not even alone", () => {
  const { conversation: _, ...role } = ROLE;
  expect(conversationFor(LEDGER, { ...TURN, subject: "a" }, role, true)).toBeUndefined();
});

const REPORT = { status: "completed" };

test("a turn's conversation is kept when it ends, and forgotten when it is gone", () => {
  const session = sessionWithTurn({ subject: "a" });
  const turn = { ...STAMP, subject: "a" };
  play(session, fact("report", REPORT, { turn, conversation: { id: "one" } }));
  expect([...session.ledger.conversations]).toEqual([["hand/a", { id: "one" }]]);
  const again = sessionWithTurn({ subject: "a" });
  play(again, fact("report", REPORT, { turn, conversation: { id: "one" } }));
  const failed = { turn_id: "t2", code: "agent_failed", message: "", details: { conversation_gone: true } };
  const open = { ...TURN, turn_id: "t2", subject: "a" };
  again.ledger.turns.set("t2", open);
  play(again, fact("turn_failed", failed, { turn: { ...turn, turn_id: "t2" } }));
  expect(again.ledger.conversations.size).toBe(0);
});

test("a review's conversation is not kept", () => {
  const session = sessionWithTurn({ subject: "a", status: "offered" });
  const turn = { ...STAMP, subject: "a" };
  play(
    session,
    fact("turn_request", { role_id: "hand", conversation: { how: "alone" } }, { turn }),
    fact("review", { decision: "approved" }, { turn, conversation: { id: "one" } }),
  );
  expect(session.ledger.conversations.size).toBe(0);
});

test.each([
  [
    "a crash",
    fact("session_recovered", {
      graceful: false,
      epoch: 2,
      turns: [{ turn_id: "t1", run: 3, conversation: { id: "one" } }],
    }),
  ],
  [
    "a rate limit",
    fact(
      "turn_failed",
      { turn_id: "t1", code: "rate_limited", message: "" },
      { turn: STAMP, conversation: { id: "one" } },
    ),
  ],
])("the next run after %s knows the conversation of the one before", (_, cause) => {
  const session = play(sessionWithTurn(), cause);
  expect(session.ledger.turns.get("t1")).toMatchObject({
    status: "offered",
    interrupted: true,
    conversation: { id: "one" },
  });
});

function cutShort(id: string) {
  return { interrupted: true, conversation: { id } };
}
