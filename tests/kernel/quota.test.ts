import { expect, it, test } from "vitest";
import type { Engine } from "../../src/kernel/engine.ts";
import { isHeld } from "../../src/kernel/holds.ts";
import { put } from "../../src/kernel/ledger.ts";
import { AT, fact, play, sessionWith, TURN } from "./session.ts";

const RESET = "2026-01-01T05:00:00Z";
const RESET_LATER = "2026-01-05T05:00:00Z";
const terms = {
  accounts: [
    ["hand", "acme"],
    ["eye", "acme"],
  ],
  reserves: [["acme", 20]],
} as const;

const window = (name: string, used_percent: number, resets_at = RESET) => ({ name, used_percent, resets_at });
const session = (more: object = {}) =>
  sessionWith([put("terms", "terms", { ...terms, ...more }), put("turn", "t1", TURN)]);
const tells = (...quota: object[]) =>
  fact("report", { status: "completed" }, { source: "hand", turn: { turn_id: "t1", attempt: 1, run: 2 }, quota });
const release = fact("user_command", { command: "release", role_id: "eye" });
const held = ({ ledger }: Engine<object>, at = AT) => ["hand", "eye", "other"].filter((one) => isHeld(ledger, one, at));

test.each([
  ["more than the reserve is left", [window("5h", 79)], []],
  ["the reserve is left", [window("5h", 80)], ["hand", "eye"]],
  ["less than the reserve of any window is left", [window("5h", 10), window("week", 95)], ["hand", "eye"]],
  ["the window is over", [window("5h", 95, "2026-01-01T00:00:00Z")], []],
])("the roles of an account are held if %s", (_, quota, expected) => {
  expect(held(play(session(), tells(...quota)))).toEqual(expected);
});

it("holds until the latest reset, with the window and its own reason", () => {
  const { ledger } = play(session(), tells(window("5h", 90), window("week", 95, RESET_LATER)));
  expect(ledger.holds.get("quota:eye")).toMatchObject({
    role_id: "eye",
    reason: "quota_reserved",
    until: RESET_LATER,
    account: "acme",
    window: "week",
    limit: { limit: "quota", used: 95, max: 80 },
  });
  expect(isHeld(ledger, "hand", "2026-01-05T04:59:59Z")).toBe(true);
  expect(isHeld(ledger, "hand", RESET_LATER)).toBe(false);
});

it("only keeps the windows of an account without a reserve", () => {
  const { ledger } = play(session({ reserves: [] }), tells(window("5h", 100)));
  expect([ledger.holds.size, ledger.quotas.get("acme")?.windows]).toEqual([0, [window("5h", 100)]]);
});

it("keeps a window that is not told again", () => {
  const { ledger } = play(session(), tells(window("5h", 10), window("week", 30)));
  const again = play(
    sessionWith([
      put("terms", "terms", terms),
      put("turn", "t1", TURN),
      put("quota", "acme", ledger.quotas.get("acme") ?? { windows: [], at: AT }),
    ]),
    tells(window("5h", 20)),
  );
  expect(again.ledger.quotas.get("acme")?.windows).toEqual([window("week", 30), window("5h", 20)]);
});

it("lets an account use its reserve until the reset once a person releases one of its roles", () => {
  const released = play(session(), tells(window("5h", 90)), release);
  expect(held(released)).toEqual([]);
  const rows = [put("terms", "terms", terms), put("turn", "t1", TURN)];
  const quota = released.ledger.quotas.get("acme") ?? { windows: [], at: AT };
  expect(quota.waived).toBe(RESET);
  expect(held(play(sessionWith([...rows, put("quota", "acme", quota)]), tells(window("5h", 95))))).toEqual([]);
});
