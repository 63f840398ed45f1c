import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Mode } from "../../src/kernel/mode.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { type Proof, verifySession } from "../../src/runtime/proof.ts";
import { type Editable, forgeries, writeForged } from "../log/forgery.ts";
import { crew, criterion, report, task } from "./crew.ts";
import { newRig, temporaryDirectory } from "./rig.ts";
import { cli, CREW, REPORT, shell } from "./roles.ts";
import { begin, DONE, logOf, MODES, run } from "./sessions.ts";
import { value } from "../results.ts";

/** A session in which everything is recorded that a forger could want to change. */
async function session(): Promise<LogRecord[]> {
  const rig = newRig();
  let reviews = 0;
  const tasks = [
    task("a", [], { instruction: { summary: "Do it." }, acceptance_criteria: [criterion("true")], review: "checks" }),
    task("b", ["a"], { instruction: { summary: "Do it." } }),
    task("c", ["b"]),
  ];
  const roles = CREW.map((role) =>
    role.type === "worker"
      ? {
          ...role,
          cli_command: shell(`say plan 7\n${REPORT}\n${REPORT}\nsay error '{"code":"internal","message":"late"}'`),
        }
      : role,
  );
  const agentFor = crew(
    tasks,
    {
      review_request: () => {
        reviews += 1;
        return { payload_type: "review", payload: { decision: reviews === 1 ? "changes_requested" : "approved" } };
      },
      instruction: () => report(),
    },
    { hand: cli() },
  );
  const made = await begin(rig, { roles, agentFor });
  expect(await run(made)).toEqual(DONE);
  return logOf(rig, made.session_id);
}

function forged(log: readonly LogRecord[], change: (records: Editable[]) => void): string {
  const folder = temporaryDirectory();
  writeForged(folder, log, change);
  return folder;
}

function prove(folder: string): Proof {
  return value(verifySession(folder, MODES));
}

function at(records: readonly Editable[], fits: (record: Editable) => boolean): Editable {
  const found = records.find(fits);
  if (!found) throw new Error("There is no such record.");
  return found;
}

const withEffect = (event: string) => (record: Editable) =>
  ((record.record["effects"] as { event: string }[] | undefined) ?? []).some((effect) => effect.event === event);
const ofType = (payload_type: string) => (record: Editable) => record.payload_type === payload_type;
const noted = (disposition: string) => (record: Editable) => record.record["disposition"] === disposition;

describe("a log with an intact chain", () => {
  it("is verified if nothing was changed", async () => {
    expect(prove(forged(await session(), () => {}))).toMatchObject({
      ok: true,
      decisions: "ok",
      integrity: "ok",
      problems: [],
    });
  });

  const changes: readonly (readonly [string, (record: Editable) => boolean, (record: Editable) => void])[] = [
    [
      "with another target in an effect",
      withEffect("report_completed"),
      ({ record }) => Object.assign((record["effects"] as object[])[0] ?? {}, { to: "done" }),
    ],
    ["without one of its effects", withEffect("approved"), ({ record }) => void delete record["effects"]],
    [
      "with another event in an effect",
      withEffect("changes_requested"),
      ({ record }) => Object.assign((record["effects"] as object[])[0] ?? {}, { event: "approved" }),
    ],
    [
      "with an applied fact marked as refused",
      ofType("check_result"),
      ({ record }) => Object.assign(record, { disposition: "refused" }),
    ],
    [
      "with an effect of a late message",
      noted("late"),
      ({ record }) =>
        Object.assign(record, { effects: [{ ticket_id: "c", from: "pending", event: "approved", to: "done" }] }),
    ],
    [
      "with a refused message marked as applied",
      (record) => record.payload_type === "error" && noted("refused")(record),
      ({ record }) => Object.assign(record, { disposition: "applied" }),
    ],
    [
      "with an effect of a duplicate",
      noted("duplicate"),
      ({ record }) =>
        Object.assign(record, { effects: [{ ticket_id: "c", from: "pending", event: "approved", to: "done" }] }),
    ],
    [
      "with another review by the scheduler",
      (record) => record.payload_type === "review" && record.record["kind"] === "decided",
      (record) => Object.assign(record, { payload: { decision: "approved", notes: "because I say so" } }),
    ],
    [
      "with another ticket in its report",
      ofType("final_report"),
      ({ payload }) => Object.assign((payload["tickets"] as object[])[1] ?? {}, { reviews: 7 }),
    ],
    [
      "with less usage in its report",
      ofType("final_report"),
      ({ payload }) => Object.assign(payload, { usage: { turns: 1, input_tokens: 0, output_tokens: 0, cost_usd: 0 } }),
    ],
    [
      "with another exit code at its end",
      ofType("session_closed"),
      ({ payload }) => Object.assign(payload, { exit_code: 1 }),
    ],
    [
      "with another turn request",
      ofType("turn_request"),
      ({ payload }) => Object.assign(payload, { expects: ["plan"] }),
    ],
    [
      "with a turn that was never offered",
      ofType("turn_request"),
      ({ record, payload }) => {
        Object.assign(record, { turn_id: "t999" });
        Object.assign(payload, { turn_id: "t999" });
      },
    ],
  ];

  it.each(changes)("%s fails at that record", async (_what, fits, change) => {
    let sequence = 0;
    const folder = forged(await session(), (records) => {
      const record = at(records, fits);
      sequence = records.indexOf(record) + 1;
      change(record);
    });
    const proof = prove(folder);
    expect(proof).toMatchObject({ ok: false, integrity: "ok", decisions: "failed" });
    expect(proof.problems[0]?.sequence).toBe(sequence);
  });

  it("without a decided record fails at the next one", async () => {
    let sequence = 0;
    const folder = forged(await session(), (records) => {
      const decided = at(records, (record) => record.record["kind"] === "decided");
      sequence = records.indexOf(decided) + 1;
      records.splice(sequence - 1, 1);
    });
    const proof = prove(folder);
    expect(proof).toMatchObject({ ok: false, decisions: "failed" });
    expect(proof.problems[0]?.sequence).toBe(sequence);
  });

  it("with an added decided record fails at it", async () => {
    let sequence = 0;
    const folder = forged(await session(), (records) => {
      const decided = at(records, (record) => record.record["kind"] === "decided");
      sequence = records.indexOf(decided) + 2;
      records.splice(sequence - 1, 0, structuredClone(decided));
    });
    const [first] = prove(folder).problems;
    const what = expect.stringMatching(/no fact leads to this decided "\w+"/) as string;
    expect(first).toEqual({ sequence, what, fault: "decided" });
  });

  it("without its report fails at its end", async () => {
    const folder = forged(await session(), (records) => {
      const closed = at(records, ofType("session_closed"));
      Object.assign(closed.record, { kind: "fact", disposition: "late" });
      records.splice(records.indexOf(closed) - 1, 1);
    });
    expect(prove(folder)).toMatchObject({
      ok: false,
      integrity: "ok",
      completeness: "closed",
      decisions: "failed",
      problems: [{ sequence: null, what: "2 decided records are missing at the end" }],
    });
  });

  it("with every decision wrong reports the first twenty", async () => {
    const folder = forged(await session(), (records) => {
      for (const { record } of records) if (record["kind"] === "fact") record["disposition"] = "refused";
    });
    const { problems } = prove(folder);
    expect(problems).toHaveLength(20);
    expect(problems[0]).toMatchObject({ sequence: 1 });
  });

  it("with any value replaced passes or names a problem, and never throws", async () => {
    const log = await session();
    // Ten thousand files are written, which takes long on a disk.
    const memory = "/dev/shm";
    const folder = mkdtempSync(join(existsSync(memory) ? memory : temporaryDirectory(), "bosun-forged-"));
    const judged = (forgery: (records: Editable[]) => void) => {
      writeForged(folder, log, forgery);
      const { ok, problems } = prove(folder);
      expect(ok || problems.length > 0).toBe(true);
      for (const { what } of problems) expect(what.length).toBeLessThan(1_000);
    };
    try {
      fc.assert(fc.property(forgeries(log), judged), { numRuns: 300, seed: 20_260_101 });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("with a wrong hash is not replayed", async () => {
    const folder = forged(await session(), () => {});
    const [name = ""] = readdirSync(folder).filter((file) => file.includes("-plan."));
    const line = readFileSync(join(folder, name), "utf8");
    writeFileSync(join(folder, name), line.replace("Do it.", "Do not."));
    expect(prove(folder)).toMatchObject({
      ok: false,
      integrity: "failed",
      decisions: "not_comparable",
      problems: [{ what: "Its content does not have the hash it carries." }],
    });
  });

  it("of other rules or an unknown mode is not comparable", async () => {
    const log = await session();
    const folder = forged(log, () => {});
    const [name, mode] = [...MODES][0] ?? [];
    const newer = new Map([[name ?? "", { ...mode, rules: (mode?.rules ?? 0) + 1 } as Mode<unknown>]]);
    for (const modes of [newer, new Map<string, Mode<unknown>>()]) {
      expect(value(verifySession(folder, modes))).toMatchObject({
        ok: true,
        decisions: "not_comparable",
        problems: [],
      });
    }
  });

  it("without its end is open, or truncated if its length is known", async () => {
    const log = await session();
    const last = log.at(-1)?.integrity;
    const whole = forged(log, () => {});
    for (const name of readdirSync(whole).toSorted().slice(-2)) rmSync(join(whole, name));
    expect(prove(whole)).toMatchObject({ ok: false, completeness: "open" });
    const known = { sequence: last?.sequence ?? 0, hash: last?.hash ?? "" };
    expect(value(verifySession(whole, MODES, known))).toMatchObject({ ok: false, completeness: "truncated" });
  });
});
