import { expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { type Cause, nextCause } from "../../src/ui/cause.ts";
import { record } from "./records.ts";

const FAILED = ["check_result", { results: [{ criterion: 1, passed: false, exit_code: 1 }] }] as const;
const SENT_BACK = [
  "review",
  { decision: "changes_requested", notes: "all of it", requested_changes: ["Mend it."] },
] as const;
const APPROVED = ["review", { decision: "approved" }] as const;

const causeAfter = (...told: readonly (readonly [string, JsonObject])[]) =>
  told.reduce<Cause | undefined>((cause, [type, payload]) => nextCause(cause, record(type, payload)), undefined)?.words;

it("A review that does not accept the work is the cause, unless checks say more, until one accepts it", () => {
  expect(causeAfter(SENT_BACK)).toBe("not accepted: Mend it.");
  const failed = causeAfter(FAILED);
  expect(failed).toBe("exit code 1");
  expect(causeAfter(FAILED, SENT_BACK)).toBe(failed);
  expect(causeAfter(SENT_BACK, APPROVED)).toBeUndefined();
});
