import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openStore } from "../../src/store/sqlite-store.ts";
import { value } from "../results.ts";
import { onlySession, typed, typedJson } from "./in-process.ts";
import { rig, type Rig, tinyPlan } from "./rig.ts";

interface Proved {
  readonly ok: boolean;
  readonly integrity: string;
  readonly problems: readonly { readonly sequence: number | null; readonly what: string }[];
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
  it("holds kept files against their records where it knows the session, and a folder only against itself", async () => {
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

  it("leaves the report of a session that is run and may close once more to whoever runs it", async () => {
    const here = rig();
    const { session_id, folder } = await closed(here);
    writeFileSync(join(folder, "final_report.json"), "{}");
    const store = value(openStore(here.home));
    value(await store.acquire(session_id, { pid: process.pid, host: hostname(), started_at: "2026-01-01T00:00:00Z" }));
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
    store.close();
    const told = await typed(here, ["replay", session_id, "--verify"]);
    expect(told.stdout).toContain("final_report.json is not the one in this record.");
    expect(told.code).toBe(6);
  });

  it.each(["final_report.json", "final_report.md"])("misses the %s of a closed session", async (name) => {
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
    const remedy = `\`bosun resume ${session_id}\` writes it again.`;
    expect(problems).toEqual([{ sequence: null, what: `The report ${report} is not there. ${remedy}` }]);
    const told = await typed(here, ["replay", session_id, "--verify"]);
    expect(told.stdout).toContain(`folder: The report ${report} is not there.`);
    expect((await typed(here, ["resume", session_id])).code).toBe(0);
    expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
  });
});
