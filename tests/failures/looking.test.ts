import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openReader } from "../../src/store/sqlite-store.ts";
import {
  ALL,
  TRIALS_TIMEOUT_MS,
  copied,
  faultsOfEnd,
  faultsOfMessage,
  leave,
  newScene,
  sample,
  type Scene,
  atOnce,
} from "./scene.ts";
import { value } from "../results.ts";

let closed: Scene;
let waiting: Scene;

beforeAll(async () => {
  [closed, waiting] = [newScene(), newScene()];
  const codes = [(await closed.run()).code, (await waiting.command(waiting.beginning)).code];
  if (codes.join() !== "0,4") throw new Error(`the sessions ended with ${codes.join(" and ")}`);
});

afterAll(() => {
  for (const scene of [closed, waiting]) leave(scene);
});

describe("a reading command whose storage call fails", () => {
  it.each([
    ["status", []],
    ["status", ["--json"]],
    ["log", []],
    ["replay", []],
    ["replay", ["--verify"]],
    ["inbox", []],
    ["plan", []],
  ])(
    "%s %j prints one message or does not need the call",
    async (name, options) => {
      const scene = name === "inbox" ? waiting : closed;
      const args = [name, ...(name === "inbox" ? [] : [scene.session_id]), ...options];
      const whole = await scene.command(args, {});
      expect(whole).toMatchObject({ code: 0, stderr: "" });
      const numbers = ALL ? whole.calls.map((_, index) => index + 1) : sample(whole.calls);
      expect(numbers.length).toBeGreaterThan(5);
      const faults = await atOnce(
        numbers,
        async (at) => {
          const done = await scene.command(args, { at, as: "broken" });
          const { kind = "", what = "" } = done.calls[at - 1] ?? {};
          const found = [...faultsOfEnd(done, [3]), ...faultsOfMessage(scene, done)];
          return found.map((fault) => `call ${at} (${kind} ${what}): ${fault}`);
        },
        2,
      );
      expect(faults).toEqual([]);
    },
    TRIALS_TIMEOUT_MS,
  );
});

describe("a writing command whose storage call fails", () => {
  it(
    "prints one message, and only what was committed exists",
    async () => {
      const put = (scene: Scene) => ["answer", scene.session_id, "c1.reader", "me"];
      const counted = copied(waiting);
      const { calls } = await counted.command(put(counted), {});
      leave(counted);
      const faults = await atOnce(
        ALL ? calls.map((_, index) => index + 1) : sample(calls),
        async (at) => {
          const scene = copied(waiting);
          try {
            const done = await scene.command(put(scene), { at, as: "full" });
            const { kind = "", what = "" } = done.calls[at - 1] ?? {};
            // After its commit it is only looked what the session's owner makes of it.
            const committed = done.calls.slice(0, at - 1).filter((call) => call.what === "COMMIT").length;
            // That the home was named, and closed to other users, is a courtesy.
            if (what.includes("/.local") || kind === "fs.chmod") return faultsOfEnd(done, [0]);
            const found = [...faultsOfEnd(done, [committed > 0 ? 0 : 3]), ...faultsOfMessage(scene, done)];
            const reader = value(openReader(scene.home));
            const rows = reader.inbox.pending(scene.session_id).length;
            if (rows !== committed) found.push(`${rows} rows after ${committed} commits`);
            reader.close();
            return found.map((fault) => `call ${at} (${kind} ${what}): ${fault}`);
          } finally {
            leave(scene);
          }
        },
        2,
      );
      expect(faults).toEqual([]);
    },
    TRIALS_TIMEOUT_MS,
  );
});
