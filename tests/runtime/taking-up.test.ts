import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { sessionPaths } from "../../src/runtime/paths.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { failureOf, value } from "../results.ts";
import { killStray, living } from "../processes.ts";
import { crew, instructed } from "./crew.ts";
import { newRig } from "./rig.ts";
import { withRole } from "./roles.ts";
import { begin, DONE, resume, type Rig, run, surroundings } from "./sessions.ts";

afterEach(() => vi.unstubAllEnvs());

const SECRET = withRole("hand", { env: { API_KEY: "hunter2-hunter2" } });

/** A session that has stopped at a limit, and the limit with which it goes on. */
async function stopped(rig: Rig): Promise<string> {
  const session = await begin(rig, {
    roles: SECRET,
    agentFor: crew([instructed("a")]),
    config: { budget: { turns: 1 } },
  });
  expect(await run(session)).toMatchObject({ kind: "stopped", reason: "limit" });
  return session.session_id;
}

const MORE = { limits: { turns: 50 } };

/** A program that a scheduler of the session which died has left, by the mark of its environment. */
async function leftover(rig: Rig, session_id: string, script: string): Promise<void> {
  const artifacts_dir = sessionPaths(rig.home, session_id).work("a");
  const program = spawn("sh", ["-c", `${script}\necho ready; while :; do sleep 0.02; done`], {
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: process.env["PATH"], BOSUN_SESSION_ID: session_id, BOSUN_ARTIFACTS_DIR: artifacts_dir },
  });
  onTestFinished(() => killStray(-(program.pid ?? 0)));
  await once(program.stdout, "data");
}

describe.runIf(process.platform === "linux")("a session resumed after its scheduler died", () => {
  it("ends leftover processes only if all secrets are set", async () => {
    const rig = newRig();
    const session_id = await stopped(rig);
    await leftover(rig, session_id, "");
    vi.stubEnv("API_KEY", undefined);
    const choices = { agentFor: crew([instructed("a")]) };
    const row = value(rig.store.session(session_id));
    const refused = failureOf(await resumeSession(surroundings(rig, choices), scheduleMode, row, MORE));
    expect(refused.message).toContain("API_KEY");
    expect(living(session_id)).not.toEqual([]);
    vi.stubEnv("API_KEY", "hunter2-hunter2");
    const session = await resume(rig, session_id, choices, MORE);
    expect(living(session_id)).toEqual([]);
    expect(await run(session)).toEqual(DONE);
  });

  it("keeps no partial copy, not even one that a leftover process makes last", async () => {
    const rig = newRig();
    const session_id = await stopped(rig);
    const { artifacts } = sessionPaths(rig.home, session_id);
    mkdirSync(artifacts, { recursive: true });
    await leftover(rig, session_id, `trap ': >"${join(artifacts, "t1.1.partial")}"; exit' TERM`);
    vi.stubEnv("API_KEY", "hunter2-hunter2");
    const session = await resume(rig, session_id, { agentFor: crew([instructed("a")]) }, MORE);
    expect(readdirSync(artifacts)).toEqual([]);
    expect(await run(session)).toEqual(DONE);
  });
});
