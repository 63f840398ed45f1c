import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { expect, it, onTestFinished } from "vitest";
import { recordsOf } from "../../../src/store/kept-record.ts";
import { openReader } from "../../../src/store/sqlite-store.ts";
import type { StoreReader } from "../../../src/store/store.ts";
import { onlySession, typed } from "../in-process.ts";
import { type Rig, rig, tinyPlan } from "../rig.ts";

async function done(): Promise<{ here: Rig; session_id: string }> {
  const here = rig();
  const plan = here.write("plan.json", tinyPlan([{ task_id: "write", shell: "true" }]));
  expect((await typed(here, ["run", "--plan", plan])).code).toBe(0);
  return { here, session_id: await onlySession(here) };
}

it("reads up to the last record at the start while more are committed", async () => {
  const { here, session_id } = await done();
  const opened = openReader(here.home);
  if (!opened.ok) throw new Error(opened.error.message);
  const reader = opened.value;
  onTestFinished(() => reader.close());
  // With each look there is one record more.
  let there = 3;
  const growing: StoreReader = {
    ...reader,
    session(id) {
      const row = reader.session(id);
      return row.ok ? { ok: true, value: { ...row.value, last_sequence: there++ } } : row;
    },
    record: (id, sequence) => (sequence <= there++ ? reader.record(id, sequence) : undefined),
  };
  const read = [...recordsOf(growing, session_id, 2)].map(({ integrity }) => integrity.sequence);
  expect(read).toEqual([2, 3]);
});

it("log and attach fail at a stored record that cannot be read, and name it", async () => {
  const { here, session_id } = await done();
  const database = new SqliteDatabase(join(here.home, "bosun.db"));
  database.exec(`UPDATE records SET line = '{"cut' WHERE sequence = 3`);
  database.close();
  for (const args of [["log"], ["attach", "--json"]]) {
    const left = await typed(here, [...args, session_id]);
    expect([left.code, left.stderr]).toEqual([6, expect.stringContaining(`record 3 of ${session_id} is lost`)]);
  }
});

it("replay says how many records a filter left out, and that a folder is no log", async () => {
  const { here, session_id } = await done();
  for (const filter of [
    ["--ticket", "write", "--type", "verdict"],
    ["--from", "900"],
    ["--from", "5", "--to", "4"],
  ]) {
    const { code, stdout, stderr } = await typed(here, ["replay", session_id, ...filter, "--json"]);
    expect([code, stdout]).toEqual([0, ""]);
    expect(stderr).toMatch(/\b11\b/);
  }
  const logs = join(here.home, "logs");
  expect((await typed(here, ["replay", logs])).stderr).toContain("a folder below logs/");
  expect(await typed(here, ["replay", "", "--verify"])).toMatchObject({ code: 2, stdout: "" });
  const proof = await typed(here, ["replay", logs, "--verify"]);
  expect(proof.code).toBe(6);
  expect(proof.stdout).toContain("a folder below logs/");
});

it("prints commands that can be copied for any folder name", async () => {
  const { here, session_id } = await done();
  const copy = join(here.workspace, "it's a copy");
  cpSync(join(here.home, "logs", session_id), copy, { recursive: true });
  const copied = (stdout: string) =>
    execFileSync("sh", ["-c", `bosun() { printf '%s\\n' "$@"; }; ${/^next {4}(.*)$/m.exec(stdout)?.[1]}`], {
      encoding: "utf8",
    }).split("\n");
  expect(copied((await typed(here, ["replay", copy])).stdout)).toEqual(["replay", copy, "--verify", ""]);
  rmSync(join(copy, readdirSync(copy).find((name) => name.startsWith("000005")) ?? ""));
  const { stdout } = await typed(here, ["replay", copy, "--verify"]);
  expect(copied(stdout)).toEqual(["replay", copy, "--from", "3", "--to", "7", ""]);
  const plan = join(here.workspace, "my plan.yaml");
  const written = await typed(here, ["plan", session_id, "--export", plan]);
  expect(written.stdout).toContain(`bosun run --plan '${plan}'`);
});
