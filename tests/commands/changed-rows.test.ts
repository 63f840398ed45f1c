import { existsSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { seal } from "../../src/log/chain.ts";
import { GENESIS, type LogRecord } from "../../src/protocol/record.ts";
import { databasePath } from "../../src/store/database.ts";
import { typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until } from "./rig.ts";

const PLAN = 4;
const LAST = 6;

type Edit = (database: SqliteDatabase.Database) => void;

const sql =
  (text: string): Edit =>
  (database) =>
    void database.exec(text);

/** Changes the check's command in the plan, and seals that record and as many after it as are wanted. */
const resealed =
  (to: number): Edit =>
  (database) => {
    const rows = database.prepare<[], { sequence: number; line: string }>("SELECT sequence, line FROM records").all();
    const write = database.prepare("UPDATE records SET line = ?, hash = ? WHERE sequence = ?");
    let previous = GENESIS;
    for (const { sequence, line } of rows) {
      const { integrity, ...record } = JSON.parse(line.replace("touch good", "touch evil")) as LogRecord;
      const sealed = seal(record, { sequence, previous: sequence <= to ? previous : integrity.previous });
      if (sequence <= to) write.run(sealed.line, sealed.hash, sequence);
      previous = sequence <= to ? sealed.hash : integrity.hash;
    }
    database.prepare("UPDATE sessions SET head = ?").run(previous);
  };

/** What somebody does to the rows, and the record that the failure names; `replay --verify`, which has the log folder, may know better. */
const EDITS: [what: string, edit: Edit, sequence: number, verified?: number][] = [
  ["a command in the plan", sql("UPDATE records SET line = replace(line, 'touch good', 'touch evil')"), PLAN],
  ["a record and its own hash", resealed(PLAN), PLAN + 1, PLAN],
  ["a record and all hashes after it", resealed(LAST), LAST, PLAN],
  ["a record deleted", sql("DELETE FROM records WHERE sequence = 3"), 3],
  ["the last record deleted", sql(`DELETE FROM records WHERE sequence = ${LAST}`), LAST],
  [
    "a record added",
    sql("INSERT INTO records SELECT session, 7, payload_type, subject, hash, line FROM records WHERE sequence = 6"),
    7,
  ],
  [
    "two records swapped",
    sql(
      "UPDATE records SET sequence = sequence + 100 WHERE sequence IN (2, 3); UPDATE records SET sequence = 105 - sequence WHERE sequence > 100",
    ),
    2,
  ],
  ["the type of a record", sql("UPDATE records SET payload_type = 'report' WHERE sequence = 5"), 5],
  ["the mode of the session", sql("UPDATE sessions SET mode = 'debate'"), 1],
  ["the workspace of the session", sql("UPDATE sessions SET workspace = '/'"), 1],
  [
    "the state of the plan's gate",
    sql("UPDATE state SET value = json_set(value, '$.phase', 'working') WHERE collection = 'session'"),
    LAST,
  ],
  ["the question of the gate deleted", sql("DELETE FROM state WHERE collection = 'ask'"), PLAN],
];

const ADDED = `INSERT INTO state SELECT session, 'check', 'x', '{"check_id":"x","criteria":[{"text":"x","command":["touch","evil"]}]}' FROM sessions`;

function edit(home: string, change: Edit): void {
  const database = new SqliteDatabase(databasePath(home));
  change(database);
  database.close();
}

/** A session whose plan waits for approval; its check makes a file. */
async function waiting(): Promise<Rig> {
  const here = rig();
  const check = { acceptance_criteria: [{ text: "made", command: ["sh", "-c", "touch good"] }] };
  const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "true", more: check }]));
  const { code, stderr } = await typed(here, ["run", "--plan", plan, "--plan-only", "--session", "s1"]);
  if (code !== 4) throw new Error(`the run ended with ${code}: ${stderr}`);
  return here;
}

/** A command line that must fail with exit code 6. Returns the record that it names. */
async function refusedBy(here: Rig, args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await typed(here, [...args, "--json"]);
  expect([args.join(" "), code, stderr]).toEqual([args.join(" "), 6, expect.anything()]);
  if (args[0] !== "replay") return (JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as Failed).details.sequence;
  const { ok, problems } = JSON.parse(stdout) as Proved;
  expect(ok).toBe(false);
  return problems[0]?.sequence;
}

interface Failed {
  readonly details: { readonly sequence: unknown };
}

interface Proved {
  readonly ok: boolean;
  readonly problems: readonly { readonly sequence: unknown; readonly what: string }[];
}

const nothingRan = ({ workspace }: Rig) => !existsSync(join(workspace, "good")) && !existsSync(join(workspace, "evil"));

describe("a session with a changed row runs nothing", () => {
  it.each(EDITS)("%s", async (_what, change, sequence, verified = sequence) => {
    const here = await waiting();
    edit(here.home, change);
    expect(await refusedBy(here, ["resume", "s1"])).toBe(sequence);
    expect(await refusedBy(here, ["replay", "s1", "--verify"])).toBe(verified);
    const { code, stderr } = await typed(here, ["plan", "s1", "--approve", "--resume"]);
    expect([code, stderr]).toEqual([expect.toBeOneOf([2, 6]), expect.anything()]);
    expect(nothingRan(here)).toBe(true);
    const database = new SqliteDatabase(databasePath(here.home), { readonly: true });
    expect(database.prepare("SELECT count(*) FROM inbox").pluck().get()).toBe(0);
    database.close();
  });

  it("a check that no record asked for", async () => {
    const here = await waiting();
    edit(here.home, sql(ADDED));
    expect(await refusedBy(here, ["resume", "s1"])).toBeNull();
    expect(await refusedBy(here, ["replay", "s1", "--verify"])).toBeNull();
    expect(nothingRan(here)).toBe(true);
  });

  it("that is changed after the approval", async () => {
    const here = await waiting();
    expect((await typed(here, ["plan", "s1", "--approve", "--no-input"])).code).toBe(0);
    edit(here.home, sql("UPDATE records SET line = replace(line, 'touch good', 'touch evil')"));
    expect(await refusedBy(here, ["resume", "s1"])).toBe(PLAN);
    expect(nothingRan(here)).toBe(true);
  });

  it("that is changed while its scheduler waits: neither the command nor the scheduler takes the approval", async () => {
    const here = rig();
    const check = { acceptance_criteria: [{ text: "made", command: ["sh", "-c", "touch good"] }] };
    const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "true", more: check }]));
    const run = ["run", "--plan", plan, "--ask-plan", "--session", "s1"];
    expect((await here.run([...run, "--detach"])).code).toBe(0);
    const asks = async () => (await typed(here, ["status", "s1", "--json"])).stdout.includes('"kind":"approval"');
    await until("the plan to wait", asks);
    edit(here.home, sql("UPDATE records SET line = replace(line, 'touch good', 'touch evil')"));
    expect((await typed(here, ["plan", "s1", "--approve"])).code).toBe(6);
    // As a program that writes the inbox by itself.
    edit(here.home, (database) => {
      const row = database.prepare("SELECT session, id FROM state WHERE collection = 'ask'").get();
      const { session, id } = row as { session: number; id: string };
      const body = { payload_type: "approval", payload: { decision: "approved", ask_id: id } };
      database
        .prepare("INSERT INTO inbox (session, body, actor, put_at) VALUES (?, ?, ?, '2026-01-01T00:00:00Z')")
        .run(session, JSON.stringify(body), '{"user":"eve","host":"here","via":"cli"}');
    });
    await until("the scheduler to leave", async () =>
      (await typed(here, ["status", "s1", "--json"])).stdout.includes('"owner":null'),
    );
    expect(nothingRan(here)).toBe(true);
  });
});

it("replay --verify names every record that differs from the database", async () => {
  const here = await waiting();
  edit(here.home, sql("UPDATE records SET line = replace(line, 'T', 't') WHERE sequence IN (2, 5)"));
  const { stdout } = await typed(here, ["replay", "s1", "--verify", "--json"]);
  const { problems } = JSON.parse(stdout) as Proved;
  expect(problems.map(({ sequence }) => sequence)).toEqual([2, 5]);
});

it("a session whose rows are whole is verified, and goes on", async () => {
  const here = await waiting();
  const { problems } = JSON.parse((await typed(here, ["replay", "s1", "--verify", "--json"])).stdout) as Proved;
  expect(problems).toEqual([]);
  expect((await typed(here, ["plan", "s1", "--approve", "--resume"])).code).toBe(0);
  expect(existsSync(join(here.workspace, "good"))).toBe(true);
});
