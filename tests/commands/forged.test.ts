import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/protocol/record.ts";
import { type Editable, forgeries, writeForged } from "../log/forgery.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";

interface Done {
  readonly here: Rig;
  readonly session_id: string;
  /** The folder of its log, and the records in it before the forgery. */
  readonly log: string;
  readonly records: readonly LogRecord[];
  readonly report: string;
}

async function done(): Promise<Done> {
  const here = rig();
  const plan = tinyPlan([
    { task_id: "first", shell: "true" },
    { task_id: "second", shell: "true", dependencies: ["first"] },
  ]);
  const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--reporter", "silent"]);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const session_id = await onlySession(here);
  const log = join(here.home, "logs", session_id);
  const records = readdirSync(log)
    .filter((name) => name.endsWith(".json"))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(log, name), "utf8")) as LogRecord);
  return { here, session_id, log, records, report: join(here.home, "sessions", session_id, "final_report.json") };
}

/** A change of the one record of its type. */
const of =
  (payload_type: string, change: (record: Editable) => object) =>
  (records: Editable[]): void => {
    const record = records.find((one) => one.payload_type === payload_type);
    if (!record) throw new Error(`there is no ${payload_type}`);
    Object.assign(record, change(record));
  };

describe("a forged log with a valid hash chain", () => {
  it("is found by the report and the database", async () => {
    const { here, session_id, log, records } = await done();
    writeForged(
      log,
      records,
      of("requirement", () => ({ payload: { text: "Write other files." } })),
    );
    const verdict = await typedJson<{ ok: boolean; problems: { what: string }[] }>(here, [
      "replay",
      session_id,
      "--verify",
      "--json",
    ]);
    const told = verdict.problems.map(({ what }) => what).join("\n");
    expect(verdict.ok).toBe(false);
    expect(told).toContain("but it is known to be sha256:");
    expect(told).toContain("final_report.json");
  });

  it("is shown as far as possible and found, for any value replaced, also in the report", async () => {
    const { here, session_id, log, records, report } = await done();
    const known: ((records: Editable[]) => void)[] = [
      of("plan", ({ record }) => ({ record: { ...record, effects: "x" } })),
      of("plan", ({ record }) => ({ record: { ...record, ticket_id: 5 } })),
      of("plan", ({ record }) => ({ record: { ...record, received_at: "x" } })),
      of("plan", () => ({ record: {} })),
      of("plan", () => ({ payload: null })),
      of("plan", () => ({ payload: {} })),
      of("final_report", () => ({ payload: { outcome: "done" } })),
    ];
    await fc.assert(
      fc.asyncProperty(forgeries(records), async (forgery) => {
        const forged = writeForged(log, records, forgery);
        const last = forged.find(({ payload_type }) => payload_type === "final_report");
        writeFileSync(report, JSON.stringify(last?.payload ?? null));
        const codes: number[] = [];
        for (const args of [[log], [log, "--ticket", "first"], [log, "--json"], [session_id, "--verify"]]) {
          const { code, stderr } = await typed(here, ["replay", ...args]);
          expect(["", "1 record cannot be read.\n"]).toContain(stderr);
          codes.push(code);
        }
        const { code, stderr } = await typed(here, [
          "report",
          session_id,
          "--html",
          "forged.html",
          "--md",
          "forged.md",
        ]);
        expect([code, stderr]).toEqual([6, ""]);
        // The list says 6 where a record cannot be read, and its proof in any case.
        for (const listed of codes.slice(0, 3)) expect([0, 6]).toContain(listed);
        expect(codes[3]).toBe(6);
      }),
      { numRuns: 50, seed: 20_260_101, examples: known.map((change) => [change]) },
    );
  });
});
