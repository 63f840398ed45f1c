import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/store/sqlite-store.ts";
import { value } from "../results.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { rig, type Rig, tinyPlan } from "./rig.ts";

interface Proved {
  readonly ok: boolean;
  readonly integrity: string;
  readonly problems: readonly { readonly sequence: number | null; readonly what: string; readonly hint: string }[];
}

interface Reported {
  readonly outcome: string;
}

/** The files of a log's records, in order. */
function recordsIn(log: string): string[] {
  return readdirSync(log)
    .filter((name) => name.endsWith(".json"))
    .toSorted()
    .map((name) => join(log, name));
}

/** A closed session with one kept file; the places of what lies beside its log. */
async function closed(here: Rig) {
  const plan = tinyPlan([{ task_id: "one", shell: 'echo kept > "$BOSUN_ARTIFACTS_DIR/list.txt"' }]);
  const ran = await typed(here, ["run", "--plan", here.write("plan.json", plan), "--reporter", "silent"]);
  expect(ran).toMatchObject({ code: 0, stderr: "" });
  const session_id = await onlySession(here);
  const folder = join(here.home, "sessions", session_id);
  const [kept = ""] = readdirSync(join(folder, "artifacts"));
  return { session_id, folder, kept: join(folder, "artifacts", kept), log: join(here.home, "logs", session_id) };
}

describe("bosun replay --verify", () => {
  it("compares kept files with their records in a home, and a folder only with itself", async () => {
    const here = rig();
    const { session_id, kept, log } = await closed(here);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
    writeFileSync(kept, "else\n");
    const proved = await typedJson<Proved>(here, ["replay", session_id, "--verify", "--json"]);
    expect(proved).toMatchObject({ ok: false, integrity: "ok" });
    expect(proved.problems).toHaveLength(1);
    const [{ sequence, what } = { sequence: 0, what: "" }] = proved.problems;
    expect(what).toContain(kept);
    const named = readdirSync(log).find((name) => name.endsWith("-artifact_ref.json"));
    expect(sequence).toBe(Number.parseInt(named ?? "", 10));
    const told = await typed(here, ["replay", session_id, "--verify"]);
    expect(told.code).toBe(6);
    expect(told.stdout).toContain(`record ${sequence}: The kept file ${kept} is not the one in this record`);
    expect((await typed(here, ["replay", log, "--verify"])).code).toBe(0);
    rmSync(kept);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(6);
  });

  it("ignores the report of a session that still runs", async () => {
    const here = rig();
    const { session_id, folder } = await closed(here);
    writeFileSync(join(folder, "final_report.json"), "{}");
    const store = value(openStore(here.home));
    value(await store.acquire(session_id, { pid: process.pid, host: hostname(), started_at: "2026-01-01T00:00:00Z" }));
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
    store.close();
    const told = await typed(here, ["replay", session_id, "--verify"]);
    expect(told.stdout).toMatch(/record \d+: .*final_report\.json/);
    expect(told.code).toBe(6);
  });

  it.each(["final_report.json", "final_report.md"])("reports a missing %s of a closed session", async (name) => {
    const here = rig();
    const { session_id, folder } = await closed(here);
    const report = join(folder, name);
    rmSync(report);
    // Who has just closed it is about to write it.
    const store = value(openStore(here.home));
    value(await store.acquire(session_id, { pid: process.pid, host: hostname(), started_at: "2026-01-01T00:00:00Z" }));
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
    store.close();
    const { problems } = await typedJson<Proved>(here, ["replay", session_id, "--verify", "--json"]);
    const containing = (text: string) => expect.stringContaining(text) as string;
    expect(problems).toEqual([
      { sequence: null, what: containing(report), hint: containing(`\`bosun resume ${session_id}\``) },
    ]);
    const [{ what, hint } = { what: "", hint: "" }] = problems;
    const told = await typed(here, ["replay", session_id, "--verify"]);
    expect(told.stdout).toContain(what);
    expect(told.stdout).toContain(`${hint}\nnext    bosun resume ${session_id}\n`);
    expect((await typed(here, ["resume", session_id])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });

  it("names the command that restores missing records, and keeps changed ones", async () => {
    const here = rig();
    const { session_id, log } = await closed(here);
    const [first = "", second = "", third = "", fourth = ""] = recordsIn(log);
    const [lines, edited] = [
      [second, third].map((path) => readFileSync(path, "utf8")),
      `${readFileSync(fourth, "utf8")} `,
    ];
    for (const path of [first, second, third]) rmSync(path);
    writeFileSync(fourth, edited);
    const verify = () => typedJson<Proved>(here, ["replay", session_id, "--verify", "--json"]);
    const { problems } = await verify();
    expect(problems.map(({ what }) => what)).toEqual([
      "Its bytes are not the canonical form of a record.",
      "Records 1 to 3 are missing.",
    ]);
    const told = await typed(here, ["replay", session_id, "--verify"]);
    expect(told.stdout).toContain(
      `${problems.map(({ hint }) => hint).join("\n")}\nnext    bosun resume ${session_id}\n`,
    );

    expect((await typed(here, ["resume", session_id])).code).toBe(0);
    expect([second, third].map((path) => readFileSync(path, "utf8"))).toEqual(lines);
    // What was changed is for people to look at, and not for Bosun to make undone.
    expect(readFileSync(fourth, "utf8")).toBe(edited);
    expect(await verify()).toMatchObject({ ok: false, problems: [{ sequence: 4, hint: problems[0]?.hint }] });
    renameSync(fourth, join(here.workspace, "evidence.json"));
    expect((await typed(here, ["resume", session_id])).code).toBe(0);
    expect(await verify()).toMatchObject({ ok: true, problems: [] });
  });

  it.each<[when: string, point: (records: number) => string]>([
    ["between its second end and its report", (records) => `record_renamed:${records}`],
    // It is written once more by who takes the closed session up to open it again.
    ["while it was written for the second end", () => "report_begun:2"],
  ])("names the command that writes the report of a session that died %s", async (_, point) => {
    const plan = tinyPlan([
      { task_id: "one", shell: "test -e good", more: { metadata: { playbook: { on_error: "give_up" } } } },
    ]);
    const failed = async () => {
      const here = rig();
      const config = here.write("config.json", '{"max_retries":0}');
      const args = ["run", "--plan", here.write("plan.json", plan), "--config", config, "--session", "s"];
      expect((await typed(here, args)).code).toBe(1);
      writeFileSync(join(here.workspace, "good"), "");
      return { here, records: recordsIn(join(here.home, "logs", "s")).length };
    };
    const whole = await failed();
    expect((await typed(whole.here, ["retry", "one"])).code).toBe(0);
    const second = recordsIn(join(whole.here.home, "logs", "s")).length - whole.records;

    const { here } = await failed();
    const env = { BOSUN_CRASH_AT: point(second) };
    expect(await here.run(["retry", "one"], { env })).toMatchObject({ signal: "SIGKILL" });
    const outcome = () =>
      (JSON.parse(readFileSync(join(here.home, "sessions", "s", "final_report.json"), "utf8")) as Reported).outcome;
    expect(outcome()).toBe("failed");
    const told = await typed(here, ["replay", "s", "--verify"]);
    expect(told.stdout).toMatch(/record \d+: .*final_report\.json/);
    expect(told.stdout).toContain("next    bosun resume s\n");
    expect((await typed(here, ["resume", "s"])).code).toBe(0);
    expect(outcome()).toBe("done");
    expect((await typed(here, ["replay", "s", "--verify"])).code).toBe(0);
  });

  it("proves a log folder whose database is damaged, as the error advises", async () => {
    const here = rig();
    const { session_id, log } = await closed(here);
    writeFileSync(join(here.home, "bosun.db"), "no database".repeat(1_000));
    const damaged = await typed(here, ["status", session_id]);
    const command = `bosun replay ${join(here.home, "logs")}/SESSION --verify`;
    expect([damaged.code, damaged.stderr]).toEqual([3, expect.stringContaining(command)]);
    expect((await typed(here, ["replay", log, "--verify"])).code).toBe(0);
  });

  it("proves that a session's stored state was changed, as the error advises", async () => {
    const here = rig();
    const { session_id } = await closed(here);
    const database = new SqliteDatabase(join(here.home, "bosun.db"));
    expect(database.prepare("UPDATE state SET value = 'null' WHERE collection = 'ticket'").run().changes).toBe(1);
    database.close();
    const tripped = await here.run(["status", session_id]);
    expect([tripped.code, tripped.stderr]).toEqual([6, expect.stringContaining(`replay ${session_id} --verify`)]);
    expect(tripped.stderr).toContain(`rebuild ${session_id}`);
    expect((await typed(here, ["status", "--all"])).stdout).toContain(session_id);
    const { code, stdout } = await typed(here, ["replay", session_id, "--verify"]);
    expect([code, stdout]).toEqual([6, expect.stringContaining("ticket")]);
    expect((await typed(here, ["rebuild", session_id])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });
});
