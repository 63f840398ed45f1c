import fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import { PAYLOAD_TYPES, type Usage } from "../../../src/protocol/payload.ts";
import type { RecordMeta, UnsealedRecord } from "../../../src/protocol/record.ts";
import { applyRecord } from "../../../src/ui/model/apply.ts";
import { copyOf } from "../../../src/ui/model/copy.ts";
import { emptyModel, type SessionModel, stateOf } from "../../../src/ui/model/model.ts";
import { blockersOf, ticketsByNeed } from "../../../src/ui/model/order.ts";
import { costCell } from "../../../src/ui/tui/scene.ts";
import { effect, PERSON, record } from "../records.ts";
import { SESSION } from "./session.ts";

const TURN = { turn_id: "t1", run: 1, attempt: 1, ticket_id: "build" };
const GIVEN = record(
  "turn_request",
  { message: { payload_type: "instruction" } },
  { ...TURN, effects: [effect("build", "pending", "in_progress")] },
  "scheduler",
  "hand",
);

/** The end of that turn. */
function reported(usage: Usage, moves = false): UnsealedRecord {
  const effects = moves ? { effects: [effect("build", "in_progress", "awaiting_review")] } : {};
  return record("report", { status: "completed" }, { ...TURN, usage, ...effects }, "hand");
}

it("shows tickets, roles, costs and open asks from records alone", () => {
  const model = shown(SESSION);
  expect({ ...model, memory: undefined }).toMatchSnapshot();
  expect(stateOf(model)).toBe("running");
  expect(ticketsByNeed(model).map(({ id }) => id)).toEqual(["docs", "tests", "ship", "build"]);
  expect([...model.tickets.values()].map((ticket) => blockersOf(model, ticket))).toEqual([[], [], [], ["docs"]]);
});

it("applies further records to a copy as to the original, which stays unchanged", () => {
  for (let split = 0; split <= SESSION.length; split += 1) {
    const model = shown(SESSION.slice(0, split));
    const copy = copyOf(model);
    for (const [index, one] of SESSION.slice(split).entries()) applyRecord(copy, split + index + 1, one);
    expect(copy).toEqual(shown(SESSION));
    expect(model).toEqual(shown(SESSION.slice(0, split)));
  }
});

it("keeps an ask open until all its questions are answered", () => {
  const asked = {
    questions: [
      { question_id: "one", text: "1?" },
      { question_id: "two", text: "2?" },
    ],
    status: "open",
  };
  const model = shown([record("clarification", asked, { turn_id: "t2", attempt: 1, run: 1 }, "boss")]);
  const answer = (question_id: string): JsonObject => ({ answers: [{ question_id, text: "yes" }], status: "answered" });
  expect(model.asks.get("c1")?.open).toEqual(["one", "two"]);
  applyRecord(model, 2, record("clarification_response", answer("c1.one"), PERSON, "user"));
  expect(model.asks.get("c1")?.open).toEqual(["two"]);
  applyRecord(model, 3, record("clarification_response", answer("two"), PERSON, "user"));
  expect(model.asks.size).toBe(0);
});

it.each<[ends: string, records: readonly UnsealedRecord[], cost: string, untold: number]>([
  ["with its usage", [reported({ input_tokens: 1, output_tokens: 1, cost_usd: 0.5 })], "$0.50", 0],
  ["and moves its ticket", [reported({ input_tokens: 1, output_tokens: 1, cost_usd: 0.5 }, true)], "$0.50", 0],
  ["when its scheduler is killed", [record("session_recovered", { graceful: false }, {}, "scheduler")], "$?", 1],
  ["at a stop", [record("session_stopped", { reason: "signal" }, {}, "scheduler")], "$?", 1],
  [
    "at a stop and is given again",
    [
      record("session_stopped", { reason: "signal" }, {}, "scheduler"),
      record("session_recovered", { graceful: true }, {}, "scheduler"),
      GIVEN,
      reported({ input_tokens: 1, output_tokens: 1, cost_usd: 0.5 }),
    ],
    "$0.50+",
    1,
  ],
  ["when the session closes", [record("session_closed", { outcome: "cancelled" }, {}, "scheduler")], "$?", 1],
  [
    "when its ticket is taken away",
    [record("user_command", {}, { effects: [effect("build", "in_progress", "error")] }, "user")],
    "$?",
    1,
  ],
])("counts what a turn used as unknown unless it was told: it ends %s", (_, records, cost, untold) => {
  const { spend, roles, tickets } = shown([GIVEN, ...records]);
  for (const one of [spend, roles.get("hand")?.spend, tickets.get("build")?.spend]) {
    expect(one && [costCell(one), one.untold]).toEqual([cost, untold]);
  }
});

it("applies any record without throwing", () => {
  const meta = fc.record({
    disposition: fc.constantFrom("applied", "refused", "late", "duplicate"),
    ticket_id: fc.constantFrom("build", "other", undefined),
    turn_id: fc.constantFrom("t1", undefined),
    effects: fc.array(fc.constantFrom(effect("build", "pending", "done"), effect("__proto__", null, "x"))),
  });
  const records = fc.array(
    fc
      .tuple(fc.constantFrom(...PAYLOAD_TYPES), fc.object({ key: fc.constantFrom(...KEYS) }), meta)
      .map(([type, payload, more]) => record(type, payload as JsonObject, more as Partial<RecordMeta>)),
  );
  fc.assert(
    fc.property(records, (all) => {
      expect(shown([...SESSION, ...all]).sequence).toBe(SESSION.length + all.length);
    }),
  );
});

const KEYS = [
  "tasks",
  "questions",
  "answers",
  "roles",
  "config",
  "results",
  "usage",
  "about",
  "ask_id",
  "budget",
  "text",
];

function shown(records: readonly UnsealedRecord[]): SessionModel {
  const model = emptyModel();
  for (const [index, one] of records.entries()) applyRecord(model, index + 1, one);
  return model;
}
