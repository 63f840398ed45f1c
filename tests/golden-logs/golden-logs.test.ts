import { resolve } from "../../src/kernel/references.ts";
import { applyToState, emptyState, newSubject, standingState } from "../../src/kernel/state.ts";
import { tellingOf } from "../../src/protocol/telling.ts";
import { replayState } from "../../src/runtime/replayed-state.ts";
import { retelling } from "../../src/runtime/retelling.ts";
import { textWithin } from "../../src/lib/json.ts";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../src/kernel/agent.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { recordName } from "../../src/log/reader.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { verifySession } from "../../src/runtime/proof.ts";
import { rebuild } from "../../src/runtime/rebuild.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { typed } from "../commands/in-process.ts";
import { rig } from "../commands/rig.ts";
import { value } from "../results.ts";
import { crew, instructed } from "../runtime/crew.ts";
import { newRig } from "../runtime/rig.ts";
import { DONE, MODES, onAsk, type Rig, surroundings } from "../runtime/sessions.ts";

const GOLDEN = join(import.meta.dirname, "..", "fixtures", "golden-logs");
const FOLDERS = readdirSync(GOLDEN).toSorted();
const SESSION_ID = "s";

function linesOf(folder: string, state: "closed" | "waiting"): string[] {
  return readFileSync(join(GOLDEN, folder, `${state}.ndjson`), "utf8")
    .trimEnd()
    .split("\n");
}

/** Writes a recorded log into the log folder of a home, and returns that folder and the records. */
function unpack(home: string, folder: string, state: "closed" | "waiting"): { log: string; records: LogRecord[] } {
  const log = join(home, "logs", SESSION_ID);
  mkdirSync(log, { recursive: true, mode: 0o700 });
  const lines = linesOf(folder, state);
  const records = lines.map((line) => JSON.parse(line) as LogRecord);
  for (const [index, { payload_type }] of records.entries())
    writeFileSync(join(log, recordName(index + 1, payload_type)), `${lines[index]}\n`);
  return { log, records };
}

describe.each(FOLDERS)("a log of %s", (folder) => {
  it.each([
    ["closed", true, "closed"],
    ["waiting", false, "open"],
  ] as const)("that is %s proves its decisions", (state, ok, completeness) => {
    const { log, records } = unpack(newRig().home, folder, state);
    expect(value(verifySession(log, MODES))).toMatchObject({
      ok,
      integrity: "ok",
      completeness,
      decisions: "ok",
      problems: [],
      records: records.length,
    });
  });

  // Records of earlier versions do not tell what they opened and ended, so they are replayed.
  it.each(["closed", "waiting"] as const)("that is %s is shown as the engine has it", (state) => {
    const lines = linesOf(folder, state);
    const records = lines.map((line) => JSON.parse(line) as LogRecord);
    const mode = MODES.get(records[0]?.payload["mode"] as string) as Mode<unknown>;
    const read = (sequence: number) => records[sequence - 1] as LogRecord;
    const retell = retelling(records[0], mode, read);
    const shown = emptyState();
    for (const [index, record] of records.entries()) {
      const retold = retell(index + 1, record);
      applyToState(shown, retold, tellingOf(retold), newSubject);
    }
    const { engine } = replayState(mode, lines) ?? {};
    const lookup = { record: read, bytes: () => 0, file: () => "" };
    const stored = engine && standingState(engine, (title) => textWithin(resolve(title, lookup)));
    expect(shown).toEqual(stored);
  });

  // A log folder by itself that has no end is not verified.
  it.each([
    ["closed", 0],
    ["waiting", 6],
  ] as const)("that is %s opens in every form", async (state, code) => {
    const here = rig();
    const { log, records } = unpack(here.home, folder, state);
    for (const form of [[], ["--json"], ["--md"], ["--html", join(here.workspace, "report.html")]])
      expect(await typed(here, ["report", log, ...form])).toMatchObject({ code: 0, stderr: "" });
    expect(await typed(here, ["replay", log, "--verify"])).toMatchObject({ code, stderr: "" });
    expect(await typed(here, ["replay", log, "--list"])).toMatchObject({ code: 0, stderr: "" });
    const { stdout } = await typed(here, ["replay", log, "--json"]);
    expect(stdout.trimEnd().split("\n")).toHaveLength(records.length);
  });

  // A resume of a closed session writes the files of its report again.
  it.each([
    ["closed", ["rebuild", "resume", "status", "inbox", "report", "replay"]],
    ["waiting", ["rebuild", "status", "inbox", "report", "replay"]],
  ] as const)("that is %s is rebuilt and shown", async (state, commands) => {
    const here = rig();
    unpack(here.home, folder, state);
    for (const command of commands)
      expect([command, await typed(here, [command])]).toMatchObject([command, { code: 0, stderr: "" }]);
  });

  it("that is waiting is rebuilt, answered and done", async () => {
    const here = newRig();
    const { records } = unpack(here.home, folder, "waiting");
    const [opened] = records;
    const mode = MODES.get(opened?.payload["mode"] as string) as Mode<unknown>;
    const rebuilt = value(await rebuild(here.home, [SESSION_ID], [SESSION_ID], MODES, "golden"));
    expect(rebuilt.sessions).toEqual([{ session_id: SESSION_ID, became: "rebuilt" }]);
    await answered(here, mode);
  });
});

/** What the two logs wait for: the second of two questions, and what becomes of a turn that a crash cut short. */
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  schedule: { question_id: "columns", text: "all" },
  debate: { question_id: "again", text: "repeat" },
};

/** Takes a session up, answers what it waits for, and approves everything. */
async function answered(here: Rig, mode: Mode<unknown>): Promise<void> {
  const row = value(here.store.session(SESSION_ID));
  const session = value(await resumeSession(surroundings(here, { agentFor }), mode, row));
  onAsk(session, ({ kind }) => {
    if (kind !== "approval") return;
    session.submit({ source: "user", payload_type: "approval", payload: { decision: "approved" } });
  });
  const answers = [ANSWERS[mode.name] ?? {}];
  session.submit({ source: "user", payload_type: "clarification_response", payload: { answers, status: "answered" } });
  expect(value(await session.run({ waitForPeople: true }))).toEqual(DONE);
}

const scheduled = crew([instructed("a")]);
const debated = crew([], {
  requirement: () => ({ payload_type: "opinion", payload: { round: 2, position: "One table" } }),
  report: () => ({ payload_type: "verdict", payload: { conclusion: "One table." } }),
});

function agentFor(role: Parameters<typeof scheduled>[0]): Agent {
  const isDebating = role.type === "participant" || role.role_id === "judge";
  return (isDebating ? debated : scheduled)(role);
}
