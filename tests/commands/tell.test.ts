import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fakePrograms } from "./fake-programs.ts";
import { onlySession, typed } from "./in-process.ts";
import { jsonLines, type Rig, rig, ROOT, type TinyTask, tinyPlan, until } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { sessionCloses } from "./waiting-task.ts";

const PROGRAM = join(ROOT, "tests/fixtures/agents/hears.mjs");

const task = (id: string): TinyTask => ({
  task_id: id,
  shell: "",
  more: { instruction: { summary: `Write ${id}.txt.` } },
});

/** Begins a session in the background whose worker can be told something, and waits until it works. */
async function begun(
  here: Rig,
  worker: "claude" | "codex",
  env: Readonly<Record<string, string>> = {},
  more: readonly TinyTask[] = [],
) {
  const turn = `HEARS=${env["HEARS"] ?? ""} exec "${process.execPath}" "${PROGRAM}" "$@"`;
  const programs = fakePrograms(here, {
    claude: { version: "2.1.331", turn },
    codex: { version: "0.169.0", turn },
  });
  const permissions = worker === "codex" ? { ask: "deny" } : {};
  const roles = [
    { role_id: "playbook", type: "manager", cli_command: ["${node}", "${crew.playbook}"] },
    { role_id: "hand", type: "worker", cli_command: [worker], permissions },
  ];
  const flags = ["--roles", here.write("roles.json", JSON.stringify({ roles }))];
  const config = here.write("config.json", JSON.stringify({ retry_backoff_ms: 1, kill_grace_s: 1 }));
  const plan = ["--plan", here.write("plan.json", tinyPlan([task("a"), ...more])), "--yes", "--config", config];
  const ran = await here.run(["run", ...plan, ...flags, "--detach"], { env: { ...programs, ...env } });
  expect(ran).toMatchObject({ code: 0 });
  await until("the worker to work", () => heard(here).length > 0);
  return { session_id: await onlySession(here), env: programs };
}

function heard(here: Rig): string[] {
  const file = join(here.workspace, "heard");
  return existsSync(file) ? jsonLines<string>(readFileSync(file, "utf8")) : [];
}

interface Told {
  readonly sequence: number;
  readonly heard_by: readonly string[] | undefined;
}

/** The record of the note. */
async function record(here: Rig, session_id: string): Promise<Told> {
  const { stdout } = await typed(here, ["replay", session_id, "--json"]);
  const all = jsonLines<{ payload_type: string; record: Told; integrity: Told }>(stdout);
  const told = all.find(({ payload_type }) => payload_type === "user_command");
  return { sequence: told?.integrity.sequence ?? 0, heard_by: told?.record.heard_by };
}

async function verifies(here: Rig, session_id: string): Promise<void> {
  expect((await typed(here, ["replay", session_id, "--verify"])).code).toBe(0);
}

const NOTE = "A note to this turn: Use tabs.";

describe("a note", () => {
  it("reaches the turn that runs, and the command and the log say so", async () => {
    const here = endAfterwards(rig());
    const { session_id } = await begun(here, "claude");
    const told = await typed(here, ["tell", "a", "Use tabs."]);
    expect(told.stdout).toContain("Told the running turn.");
    await sessionCloses(here, session_id);
    expect(heard(here)).toEqual([expect.stringContaining("Write a.txt."), NOTE]);
    expect((await record(here, session_id)).heard_by).toEqual([expect.stringMatching(/^t\d+$/)]);
    const log = await typed(here, ["log", session_id]);
    expect(log.stdout).toMatch(/TELL by .*"Use tabs\." \(told the running turn\)/);
    await verifies(here, session_id);
  });

  it("comes with the next turn, too, if the one that heard it fails", async () => {
    const here = endAfterwards(rig());
    const { session_id } = await begun(here, "claude", { HEARS: "fails" });
    expect((await typed(here, ["tell", "a", "Use tabs."])).stdout).toContain("Told the running turn.");
    await sessionCloses(here, session_id);
    expect(heard(here)).toEqual([
      expect.anything(),
      NOTE,
      expect.stringMatching(/## Notes to this turn\s+.*Use tabs\./),
    ]);
    await verifies(here, session_id);
  });

  it("comes with the next turn if the program cannot be told while it works", async () => {
    const here = endAfterwards(rig());
    const { session_id } = await begun(here, "codex");
    const told = await typed(here, ["tell", session_id, "Use tabs."]);
    expect(told.stdout).toContain("Comes with the next turn.");
    writeFileSync(join(here.workspace, "go"), "");
    await sessionCloses(here, session_id);
    expect(heard(here)).toEqual([expect.not.stringContaining("Use tabs.")]);
    expect((await record(here, session_id)).heard_by).toBeUndefined();
    expect((await typed(here, ["log", session_id])).stdout).toContain('"Use tabs." (comes with the next turn)');
    await verifies(here, session_id);
  });

  it("about another ticket is not told to the turn that runs", async () => {
    const here = endAfterwards(rig());
    const { session_id } = await begun(here, "claude", {}, [{ ...task("b"), dependencies: ["a"] }]);
    expect((await typed(here, ["tell", "b", "Use spaces."])).stdout).toContain("Comes with the next turn.");
    expect((await typed(here, ["tell", "a", "Use tabs."])).stdout).toContain("Told the running turn.");
    await sessionCloses(here, session_id);
    expect(heard(here)).toEqual([
      expect.anything(),
      NOTE,
      expect.stringMatching(/## Notes to this turn\s+.*Use spaces\./),
    ]);
    await verifies(here, session_id);
  });

  it("is not lost if the scheduler dies between its record and the program", async () => {
    const first = endAfterwards(rig());
    const { session_id: like } = await begun(first, "claude");
    await typed(first, ["tell", "a", "Use tabs."]);
    await sessionCloses(first, like);
    const { sequence } = await record(first, like);

    const here = endAfterwards(rig());
    const { session_id, env } = await begun(here, "claude", { BOSUN_CRASH_AT: `record_renamed:${sequence}` });
    expect((await typed(here, ["tell", "a", "Use tabs."])).stdout).toContain("Told the running turn.");
    expect(heard(here)).toHaveLength(1);
    expect((await record(here, session_id)).sequence).toBe(sequence);
    expect((await typed(here, ["resume", session_id], env)).code).toBe(0);
    expect(heard(here)).toEqual([expect.anything(), expect.stringMatching(/## Notes to this turn\s+.*Use tabs\./)]);
    await verifies(here, session_id);
  });
});
