import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import { type Telling, tellingOf } from "../../src/protocol/telling.ts";

const AT = "2026-01-02T03:04:05Z";

/** What a record with these fields tells. They may be anything, as in a forged log. */
function told(record: object, payload: JsonObject = {}, payload_type = "report"): Telling {
  return tellingOf({
    ...{ session_id: "s-1", timestamp: AT, source: "scheduler", target: "hand", payload_type, version: "1.0", payload },
    record: { kind: "fact", received_at: AT, disposition: "applied", ...record },
  } as unknown as UnsealedRecord);
}

const NOTHING = told({});

const ASK = { ask_id: "c1", kind: "questions", record: 4, ticket_id: "a", turn_id: "t1", open: ["q1"] };
const HOLD = {
  ...{ hold_id: "h", role_id: "hand", reason: "trust", until: AT, since: AT, account: "acme", window: "5h" },
  ...{ limit: { limit: "role_turns", used: 1, max: 2 }, tries: 3, trying: true, said: "No." },
};
const SUBJECT = {
  ...{ title: "Do it", owner: "hand", attempt: 1, max_attempts: 2, depends_on: ["b"], order: 3 },
  ...{ reason: "late", spent: "turns" },
};
const UNTOLD = Object.fromEntries(Object.keys(SUBJECT).map((field) => [field, undefined]));

describe("a record tells", () => {
  it("nothing of what it has not", () => {
    const ended = { turns: [], asks: [], holds: [], checks: [], subjects: [] };
    expect(NOTHING).toEqual({
      ...{ state: undefined, moves: [], changed: [] },
      turn: undefined,
      ...{ asks: [], holds: [], checks: [] },
      ended,
    });
  });

  it("all that its schema has", () => {
    const effects = [{ ticket_id: "a", from: null, event: "created", to: "pending", reason: "new" }];
    const ended = { turns: ["t1"], asks: ["c2"], holds: ["h2"], checks: ["k2"], subjects: ["b"] };
    const opened = { asks: [ASK], holds: [HOLD], checks: [{ check_id: "k1", ticket_id: "a" }] };
    const { ticket_id: subject, ...ask } = ASK;
    expect(told({ state: "running", effects, opened, ended, changed: [{ ticket_id: "a", ...SUBJECT }] })).toEqual({
      state: "running",
      moves: [{ subject: "a", to: "pending", reason: "new" }],
      changed: [{ subject: "a", ...SUBJECT }],
      turn: undefined,
      asks: [{ ...ask, subject }],
      holds: [HOLD],
      checks: [{ check_id: "k1", subject: "a" }],
      ended,
    });
  });

  it("a title that its payload holds", () => {
    const payload = { tasks: [{ description: "Do it" }, { description: { text: "Do that" } }] };
    const titles = ["/tasks/0/description", "/tasks/1/description"].map((title_at) => ({ ticket_id: "a", title_at }));
    expect(told({ changed: titles }, payload).changed.map(({ title }) => title)).toEqual(["Do it", "Do that"]);
  });

  it("which fields of a subject are gone", () => {
    const gone = { owner: null, max_attempts: null, reason: null, spent: null };
    expect(told({ changed: [{ ticket_id: "a", ...gone }] }).changed).toEqual([{ subject: "a", ...UNTOLD, ...gone }]);
  });

  it("the turn that it requests, unless the request was refused", () => {
    const turn = { turn_id: "t1", ticket_id: "a", run: 2 };
    const request = (more: object) => told({ ...turn, ...more }, {}, "turn_request").turn;
    expect(request({})).toEqual({ turn_id: "t1", role_id: "hand", subject: "a", run: 2, since: AT });
    expect(request({ run: undefined })?.run).toBe(1);
    expect([request({ disposition: "refused" }), request({ turn_id: undefined }), told(turn).turn]).toEqual([
      ...[undefined, undefined, undefined],
    ]);
  });
});

const FORGED: readonly Json[] = [
  null,
  0,
  -1.5,
  true,
  "",
  "text",
  [],
  [null, 1, "x", [[]], {}],
  {},
  { asks: { a: {} } },
];

describe("a forged record tells nothing", () => {
  it.each(["state", "effects", "opened", "ended", "changed"])("in %s", (field) => {
    for (const value of FORGED) {
      const expected = field === "state" && typeof value === "string" ? { ...NOTHING, state: value } : NOTHING;
      expect(told({ [field]: value })).toEqual(expected);
    }
  });

  it.each(["asks", "holds", "checks"] as const)("in what it opened, ended: %s", (field) => {
    for (const value of FORGED) {
      expect(told({ opened: { [field]: value } })).toEqual(NOTHING);
      const texts = Array.isArray(value) ? value.filter((one) => one === "x") : [];
      expect(told({ ended: { [field]: value } }).ended[field]).toEqual(texts);
    }
  });

  it("of anything without an id", () => {
    for (const id of [undefined, null, 7, "", {}, ["a"]]) {
      const opened = { asks: [{ ...ASK, ask_id: id }], holds: [{ ...HOLD, hold_id: id }], checks: [{ check_id: id }] };
      const effects = [{ ticket_id: id, to: "done" }];
      expect(told({ opened, effects, changed: [{ ...SUBJECT, ticket_id: id }] })).toEqual(NOTHING);
    }
  });

  it("in fields of another kind, and all of the others", () => {
    for (const forged of [{}, [], [[]], { text: "x" }]) {
      const spoil = (one: object) => Object.fromEntries(Object.keys(one).map((field) => [field, forged]));
      expect(told({ changed: [{ ...spoil(SUBJECT), ticket_id: "a" }] }).changed).toEqual([
        { subject: "a", ...UNTOLD, depends_on: [] },
      ]);
      const opened = {
        asks: [{ ...spoil(ASK), ask_id: "c1" }],
        holds: [{ ...spoil(HOLD), hold_id: "h", role_id: "hand" }],
        checks: [{ check_id: "k1", ticket_id: forged }],
      };
      expect(told({ opened })).toMatchObject({
        asks: [{ ask_id: "c1", kind: "", record: 0, subject: undefined, turn_id: undefined, open: [] }],
        checks: [{ check_id: "k1", subject: undefined }],
      });
      expect(told({ opened }).holds).toEqual([{ hold_id: "h", role_id: "hand", reason: "" }]);
    }
  });

  it("of times that are none, and of parts of a limit that are missing", () => {
    const hold = { ...HOLD, until: "soon", since: "2026-13-45T00:00:00Z", limit: { limit: "turns" } };
    const { until: _, since: __, ...rest } = HOLD;
    expect(told({ opened: { holds: [hold] } }).holds).toEqual([
      { ...rest, limit: { limit: "turns", used: 0, max: 0 } },
    ]);
  });
});

/** Whether all texts, numbers and lists are what their types say. */
function isSound({ state, moves, changed, turn, asks, holds, checks, ended }: Telling): boolean {
  const text = (value: unknown) => typeof value === "string";
  const number = (value: unknown) => typeof value === "number";
  const texts = (value: unknown) => Array.isArray(value) && value.every(text);
  const maybe = (is: (value: unknown) => boolean, value: unknown) => value === undefined || is(value);
  const orNull = (is: (value: unknown) => boolean, value: unknown) => value === null || maybe(is, value);
  return [
    maybe(text, state),
    moves.every(({ subject, to, reason }) => text(subject) && text(to) && maybe(text, reason)),
    changed.every(({ subject, title, owner, attempt, max_attempts, depends_on, order, reason, spent }) =>
      [
        ...[text(subject), maybe(text, title), maybe(number, attempt), maybe(texts, depends_on), maybe(number, order)],
        ...[orNull(text, owner), orNull(number, max_attempts), orNull(text, reason), orNull(text, spent)],
      ].every(Boolean),
    ),
    turn === undefined || (text(turn.turn_id) && text(turn.role_id) && maybe(text, turn.subject) && number(turn.run)),
    asks.every(({ ask_id, kind, record, subject, turn_id, open }) =>
      [text(ask_id), text(kind), number(record), maybe(text, subject), maybe(text, turn_id), texts(open)].every(
        Boolean,
      ),
    ),
    holds.every(({ hold_id, role_id, reason, until, since, account, window, limit, tries, trying, said }) =>
      [
        ...[text(hold_id), text(role_id), text(reason), maybe(text, account), maybe(text, window), maybe(text, said)],
        ...[until, since].map((time) => time === undefined || !Number.isNaN(Date.parse(time))),
        limit === undefined || (text(limit.limit) && number(limit.used) && number(limit.max)),
        maybe(number, tries) && (trying === undefined || typeof trying === "boolean"),
      ].every(Boolean),
    ),
    checks.every(({ check_id, subject }) => text(check_id) && maybe(text, subject)),
    Object.values(ended).every(texts),
  ].every(Boolean);
}

it("tells only what is sound, whatever it holds", () => {
  const field = fc.constantFrom(
    ...Object.keys({ ...ASK, ...HOLD, ...SUBJECT }),
    "check_id",
    "title_at",
    "to",
    "__proto__",
  );
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom("a", "/tasks/0", "/__proto__/constructor", AT, 7));
  const entries = fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(field, value)));
  const lists = fc.dictionary(fc.constantFrom("turns", "asks", "holds", "checks", "subjects"), entries);
  const record = fc.record({
    ...{ state: value, effects: entries, changed: entries },
    ...{ opened: fc.oneof(fc.jsonValue(), lists), ended: fc.oneof(fc.jsonValue(), lists) },
    ...{ turn_id: fc.constantFrom("t1", undefined), ticket_id: fc.constantFrom("a", undefined) },
  });
  const payload = fc.dictionary(fc.constantFrom("tasks", "text"), fc.jsonValue());
  fc.assert(
    fc.property(record, payload, fc.constantFrom("turn_request", "plan"), (one, held, type) => {
      expect(isSound(told(one, held as JsonObject, type))).toBe(true);
    }),
    { numRuns: 300 },
  );
});
