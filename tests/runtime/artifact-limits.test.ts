import { mkdirSync, readdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { err } from "../../src/lib/result.ts";
import { failure } from "../../src/protocol/failure.ts";
import type { PayloadByType } from "../../src/protocol/payload.ts";
import { keepArtifact } from "../../src/runtime/turns/artifacts.ts";
import { sessionPaths } from "../../src/runtime/paths.ts";
import type { Store } from "../../src/store/store.ts";
import { crew, instructed } from "./crew.ts";
import { newRig, temporaryDirectory } from "./rig.ts";
import { cli, REPORT, withWorker } from "./roles.ts";
import { begin, DONE, logOf, recordOf, resume, type Rig, run, sessionId, told } from "./sessions.ts";
import { failureOf, value } from "../results.ts";

const TASKS = [instructed("a")];

/** Brings three files that take long to copy and nothing to make, and then waits until it is told to end. */
const LARGE = `last_words() { ${REPORT}; exit 0; }
trap last_words TERM
cd "$BOSUN_ARTIFACTS_DIR"
for name in one two three; do
  truncate -s 256M $name
  say artifact_ref "{\\"label\\":\\"$name\\",\\"uri\\":\\"$name\\"}"
done
while :; do sleep 0.02; done`;

function filesOf(rig: Rig, session_id: string): string[] {
  return readdirSync(sessionPaths(rig.home, session_id).artifacts);
}

async function copying(rig: Rig, session_id: string): Promise<void> {
  await expect.poll(() => filesOf(rig, session_id)).toEqual([expect.stringMatching(/\.partial$/)]);
}

describe("copying artifacts", () => {
  it("stops without waiting for copies, and the turn is repeated", async () => {
    const rig = newRig();
    const session = await begin(rig, {
      roles: withWorker(LARGE),
      agentFor: crew(TASKS, {}, { hand: cli() }),
    });
    const { session_id } = session;
    const ended = run(session);
    await copying(rig, session_id);
    session.stop("signal", "enough");
    expect(await ended).toMatchObject({ kind: "stopped", reason: "signal" });
    expect(filesOf(rig, session_id)).toEqual([]);
    // An answer without the files that came before it would be less than what was done.
    expect(logOf(rig, session_id).slice(-2)).toMatchObject([
      { payload_type: "turn_request" },
      { payload_type: "session_stopped" },
    ]);

    const resumed = await resume(rig, session_id, { agentFor: crew(TASKS) });
    expect(await run(resumed)).toEqual(DONE);
    expect(logOf(rig, session_id, "report")).toMatchObject([{ record: { run: 2 } }]);
  });

  it("ends when the lease is lost", async () => {
    const rig = newRig();
    let isTaken = false;
    const taken = err(failure("stale_lease", "It was taken over."));
    const store: Store = {
      ...rig.store,
      commit: async (...given) => (isTaken ? taken : rig.store.commit(...given)),
      confirm: (lease) => (isTaken ? taken : rig.store.confirm(lease)),
    };
    const session = await begin(rig, {
      store,
      roles: withWorker(LARGE),
      agentFor: crew(TASKS, {}, { hand: cli() }),
    });
    const ended = session.run({ waitForPeople: false });
    await copying(rig, session.session_id);
    isTaken = true;
    const payload = { command: "tell", text: "Are you there?" };
    session.submitFromPerson({ source: "user", payload_type: "user_command", payload });
    expect(failureOf(await ended).code).toBe("stale_lease");
    expect(filesOf(rig, session.session_id)).toEqual([]);
  });
});

describe("the artifact quota", () => {
  function rooms(run_bytes: number, session_bytes: number) {
    const [home, workspace] = [temporaryDirectory(), temporaryDirectory()];
    const limits = {
      run: { left: run_bytes },
      session: { left: session_bytes },
      signal: new AbortController().signal,
    };
    const request = {
      payload: { artifacts_dir: join(home, "work"), workspace } as PayloadByType["turn_request"],
      session_id: "s",
      stamp: { turn_id: "t-1", run: 1, attempt: 1 },
    };
    const keep = (name: string, text: string, digest?: string) => {
      writeFileSync(join(workspace, name), text);
      const reference = { label: name, uri: name, ...(digest === undefined ? {} : { digest }) };
      return keepArtifact(reference, request, sessionPaths(home, "s"), limits);
    };
    return { limits, keep, files: () => readdirSync(sessionPaths(home, "s").artifacts) };
  }

  it("limits the bytes of a run, kept or not", async () => {
    const { limits, keep, files } = rooms(16, 100);
    expect(failureOf(await keep("a", "12345678", `sha256:${"0".repeat(64)}`)).message).toContain("its digest is");
    expect(limits).toMatchObject({ run: { left: 8 }, session: { left: 100 } });
    value(await keep("a", "12345678"));
    expect(failureOf(await keep("b", "1"))).toMatchObject({
      code: "validation_failed",
      message: expect.stringMatching(new RegExp(`"b".*this run.*${2 ** 30} bytes`)),
    });
    expect(files()).toEqual([expect.stringMatching(/-a$/)]);
  });

  it("limits the bytes of a session and counts a file once", async () => {
    const { limits, keep, files } = rooms(100, 16);
    value(await keep("a", "12345678"));
    value(await keep("a", "12345678"));
    expect(limits.session).toEqual({ left: 8 });
    value(await keep("b", "12345678"));
    expect(failureOf(await keep("c", "1")).message).toContain("this session");
    expect(files()).toHaveLength(2);
  });

  it("refuses an artifact over the quota and the session goes on", async () => {
    const rig = newRig();
    const session_id = sessionId();
    const { artifacts } = sessionPaths(rig.home, session_id);
    mkdirSync(artifacts, { recursive: true });
    writeFileSync(join(artifacts, "kept"), "");
    truncateSync(join(artifacts, "kept"), 16 * 2 ** 30);
    symlinkSync("nowhere", join(artifacts, "link"));
    const script = `printf x >"$BOSUN_ARTIFACTS_DIR/x"; say artifact_ref '{"label":"x","uri":"x"}'\n${REPORT}`;
    const agentFor = crew(TASKS, {}, { hand: cli() });
    const session = await begin(rig, { session_id, roles: withWorker(script), agentFor });
    const refused = told(session, recordOf("error", "a"));
    expect(await run(session)).toEqual(DONE);
    expect(await refused).toMatchObject({
      record: { payload: { code: "validation_failed", message: expect.stringContaining("this session") } },
    });
    expect(filesOf(rig, session_id)).toEqual(["kept", "link"]);
  });
});
