import fc from "fast-check";
import { expect, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import { costFigure } from "../../../src/log/usage-words.ts";
import { schedulePresentation } from "../../../src/modes/schedule/presentation.ts";
import { PAYLOAD_TYPES } from "../../../src/protocol/payload.ts";
import type { RecordMeta } from "../../../src/protocol/record.ts";
import { spentOf } from "../../../src/runtime/usage.ts";
import { applyRecord } from "../../../src/ui/model/apply.ts";
import { askText, blockersOf, copyOf, stateOf, ticketsByNeed } from "../../../src/ui/model/model.ts";
import { COMPLETED, INSTRUCTION, schedule, type ScheduleSession, task } from "../../modes/schedule/session.ts";
import { effect, modelOf, record } from "../records.ts";
import { SESSION } from "./session.ts";

it("shows tickets, roles, costs and open asks from records alone", () => {
  const model = modelOf(SESSION);
  expect(model).toMatchSnapshot();
  expect(stateOf(model)).toBe("running");
  expect(ticketsByNeed(model, schedulePresentation).map(({ id }) => id)).toEqual(["docs", "tests", "ship", "build"]);
  expect([...model.subjects.values()].map((ticket) => blockersOf(model, schedulePresentation, ticket))).toEqual([
    ...[[], [], [], ["docs"]],
  ]);
});

it("applies further records to a copy as to the original, which stays unchanged", () => {
  for (let split = 0; split <= SESSION.length; split += 1) {
    const model = modelOf(SESSION.slice(0, split));
    const copy = copyOf(model);
    for (const [index, one] of SESSION.slice(split).entries()) applyRecord(copy, split + index + 1, one);
    expect(copy).toEqual(modelOf(SESSION));
    expect(model).toEqual(modelOf(SESSION.slice(0, split)));
  }
});

it("keeps an ask open until all its questions are answered", () => {
  const session = schedule().plan(task("a")).ask("a", "one", "two");
  const told = () => {
    const model = modelOf(session.records);
    return [...model.asks.values()].map((ask) => [ask.open, askText(model, ask)]);
  };
  expect(told()).toEqual([[["one", "two"], "c1.one: What of one? / c1.two: What of two?"]]);
  session.answerQuestions({ "c1.one": "yes" });
  expect(told()).toEqual([[["two"], "c1.two: What of two?"]]);
  session.answerQuestions({ two: "yes" });
  expect(told()).toEqual([]);
});

const FREE = { input_tokens: 0, output_tokens: 0, cost_usd: 0 };
const HALF = { input_tokens: 1, output_tokens: 1, cost_usd: 0.5 };

/** A worker has the turn of ticket `build`; its manager's turns were free. */
function given(): ScheduleSession {
  return schedule()
    .requirement()
    .answer(undefined, "plan", { tasks: [task("build")] }, FREE)
    .answer("build", "instruction", INSTRUCTION, FREE)
    .admit("build");
}

it.each<[ends: string, session: ScheduleSession, cost: string, untold: number]>([
  ["with its usage", given().answer("build", "report", COMPLETED, HALF), "$0.50", 0],
  [
    "with its usage and does not move its ticket",
    given().answer("build", "error", { code: "agent_failed", message: "No." }, HALF),
    "$0.50",
    0,
  ],
  ["when its scheduler is killed", given().recover(false), "-", 1],
  ["at a stop", given().stop(), "-", 1],
  [
    "at a stop and is given again",
    given().stop().recover().admit("build").answer("build", "report", COMPLETED, HALF),
    "$0.50+",
    1,
  ],
  ["when the session closes", given().command("cancel"), "-", 1],
  ["when its ticket is taken away", given().command("cancel", "build"), "-", 1],
])("counts what a turn used as unknown unless it was told: it ends %s", (_, session, cost, untold) => {
  const { spend, roles, subjects } = modelOf(session.records);
  for (const one of [spend, roles.get("hand")?.spend, subjects.get("build")?.spend]) {
    expect(one && [costFigure(spentOf(one)), one.untold_turns]).toEqual([cost, untold]);
  }
});

it("applies any record without throwing", () => {
  const ids = fc.array(fc.oneof(fc.constantFrom("t1", "build", "c1", "__proto__"), fc.jsonValue()));
  const field = fc.constantFrom(
    "ask_id",
    "hold_id",
    "check_id",
    "ticket_id",
    "kind",
    "open",
    "until",
    "title_at",
    "owner",
  );
  const text = fc.constantFrom("t1", "build", "c1", "questions", "review", "/tasks/0", "__proto__");
  const forged = fc.array(fc.dictionary(field, fc.oneof(text, fc.jsonValue())));
  const meta = fc.record({
    disposition: fc.constantFrom("applied", "refused", "late", "duplicate"),
    ticket_id: fc.constantFrom("build", "other", undefined),
    turn_id: fc.constantFrom("t1", undefined),
    effects: fc.array(fc.constantFrom(effect("build", "pending", "done"), effect("__proto__", null, "x"))),
    state: fc.jsonValue(),
    opened: fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom("asks", "holds", "checks"), forged)),
    ended: fc.oneof(
      fc.jsonValue(),
      fc.dictionary(fc.constantFrom("turns", "asks", "holds", "checks", "subjects"), ids),
    ),
    changed: fc.oneof(fc.jsonValue(), forged),
  });
  const records = fc.array(
    fc
      .tuple(fc.constantFrom(...PAYLOAD_TYPES), fc.object({ key: fc.constantFrom(...KEYS) }), meta)
      .map(([type, payload, more]) => record(type, payload as JsonObject, more as unknown as Partial<RecordMeta>)),
  );
  fc.assert(
    fc.property(records, (all) => {
      expect(modelOf([...SESSION, ...all]).sequence).toBe(SESSION.length + all.length);
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
