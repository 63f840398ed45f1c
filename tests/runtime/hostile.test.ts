import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { crew, criterion, instructed } from "./crew.ts";
import { newRig } from "./rig.ts";
import { cli, REPORT, shell, withRole } from "./roles.ts";
import { begin, DONE, logOf, resume, run, surroundings } from "./sessions.ts";
import { failureOf, value } from "../results.ts";

afterEach(() => vi.unstubAllEnvs());

function roles(script: string, env: Record<string, string> = {}): Role[] {
  return withRole("hand", { cli_command: shell(script), env });
}

describe("a hostile worker", () => {
  it("that replaces its artifacts directory by a file gets a new one", async () => {
    const rig = newRig();
    const script = `if [ $BOSUN_TICKET_ID = a ]; then rmdir "$BOSUN_ARTIFACTS_DIR"; : >"$BOSUN_ARTIFACTS_DIR"; fi\n${REPORT}`;
    const tasks = ["a", "b"].map((id) => instructed(id, [], { acceptance_criteria: [criterion("true")] }));
    const session = await begin(rig, {
      roles: roles(script),
      config: { max_retries: 1 },
      agentFor: crew(tasks, {}, { hand: cli() }),
    });
    expect(await run(session)).toEqual(DONE);
    expect(statSync(join(rig.home, "sessions", session.session_id, "work", "a")).isDirectory()).toBe(true);
  });

  it("that blocks the kept artifacts with a file still has its own kept", async () => {
    const rig = newRig();
    const script = `cd "$BOSUN_ARTIFACTS_DIR"; : >../../artifacts; echo made >made.txt
say artifact_ref '{"label":"made","uri":"made.txt"}'\n${REPORT}`;
    const session = await begin(rig, {
      roles: roles(script),
      agentFor: crew([instructed("a")], {}, { hand: cli() }),
    });
    expect(await run(session)).toEqual(DONE);
    expect(rig.store.artifacts(session.session_id)).toMatchObject([{ label: "made", size_bytes: 5 }]);
  });

  it.each([0, 1, 2, 3])("whose broken line is cut inside a character (%i) is quoted", async (shift) => {
    const rig = newRig();
    const script = `printf '{"payload_type":"report"${"x".repeat(shift)}'; yes '😀' | head -n 3000 | tr -d '\\n'; echo\n${REPORT}`;
    const session = await begin(rig, {
      roles: roles(script),
      agentFor: crew([instructed("a")], {}, { hand: cli() }),
    });
    expect(await run(session)).toEqual(DONE);
    expect(logOf(rig, session.session_id, "error")).toMatchObject([{ record: { disposition: "refused" } }]);
  });

  it("that floods refused messages fails with output_limit", async () => {
    const rig = newRig();
    const header = `{"session_id":"'$BOSUN_SESSION_ID'","source":"hand","target":"scheduler","version":"1.0"`;
    const lines = [
      `${header},"payload_type":"${"a".repeat(63)}😀","payload":{}}`,
      `${header.replace("hand", String.raw`\na${"😀".repeat(40)}`)},"payload_type":"report","payload":{"status":"completed"}}`,
      `${header},"payload_type":"report","payload":{"status":"completed","${"k".repeat(490)}😀":1}}`,
    ];
    const forEver = `while :; do printf '%s\\n' ${lines.map((line) => `'${line}'`).join(" ")}; done`;
    const session = await begin(rig, {
      roles: roles(`if [ $BOSUN_ATTEMPT = 1 ]; then ${forEver}; fi\n${REPORT}`),
      agentFor: crew([instructed("a")], {}, { hand: cli({ max_output_bytes: 200_000 }) }),
    });
    expect(await run(session)).toEqual(DONE);
    const [failed] = logOf(rig, session.session_id, "turn_failed");
    expect(failed?.payload).toMatchObject({ code: "output_limit" });
    expect(failed?.payload["refused"]).toHaveLength(8);
    const refused = logOf(rig, session.session_id, "error").map(({ payload }) => payload["message"]);
    expect(refused.length).toBeGreaterThan(9);
    expect(new Set(refused).size).toBe(3);
  });

  it("whose message has 300,000 keys is told the limit, and may print a better one", async () => {
    const rig = newRig();
    const keys = `awk 'BEGIN { for (n = 0; n < 300000; n++) printf ",%ck%d%c:1", 34, n, 34 }'`;
    const line = `printf '{"payload_type":"report","payload":{"status":"completed"'; ${keys}; echo '}}'`;
    const session = await begin(rig, {
      roles: roles(`${line}\n${REPORT}`),
      agentFor: crew([instructed("a")], {}, { hand: cli() }),
    });
    expect(await run(session)).toEqual(DONE);
    const [refused] = logOf(rig, session.session_id, "error");
    expect(refused).toMatchObject({ payload: { code: "output_limit" }, record: { disposition: "refused" } });
    expect(refused?.payload["message"]).toMatch(/300003 keys and list entries; at most 20000 /);
  });

  it("whose program tells an event with 300,000 members still has its answer taken", async () => {
    const rig = newRig();
    const answer = JSON.stringify({ payload_type: "report", report: { status: "completed", summary: "Done." } });
    const result = JSON.stringify({ type: "result", subtype: "success", is_error: false, result: answer });
    const event = `printf '{"type":"user","message":[0'; yes ,0 | head -n 300000 | tr -d '\\n'; echo ']}'`;
    const script = `read -r _; ${event}; echo '${result}'`;
    const session = await begin(rig, {
      roles: withRole("hand", { dialect: "claude", cli_command: ["sh", "-c", script, "sh"] }),
      agentFor: crew([instructed("a")], {}, { hand: cli() }),
    });
    expect(await run(session)).toEqual(DONE);
    expect(logOf(rig, session.session_id, "error")).toEqual([]);
  });

  it("that floods its output leaves bounded files", async () => {
    const rig = newRig();
    const script = `if [ $BOSUN_ATTEMPT = 1 ]; then yes "$(printf '\\033[2J\\377')"; fi\n${REPORT}`;
    const session = await begin(rig, {
      roles: roles(script),
      config: { max_output_bytes: 100_000 },
      agentFor: crew([instructed("a")], {}, { hand: cli({ max_output_bytes: 100_000 }) }),
    });
    expect(await run(session)).toEqual(DONE);
    expect(logOf(rig, session.session_id, "turn_failed")).toMatchObject([{ payload: { code: "output_limit" } }]);
    const output = join(rig.home, "logs", session.session_id, "output");
    const sizes = readdirSync(output).map((name) => readFileSync(join(output, name)).length);
    expect(sizes.length).toBeGreaterThan(0);
    expect(Math.max(...sizes)).toBeLessThan(500_000);
  });
});

describe("the environment of a role", () => {
  it("reaches the agent, and its secrets stay out of the log", async () => {
    const rig = newRig();
    const secret = "hunter2-hunter2";
    // Its own text must not hold the secret, since commands are recorded.
    const script = `[ "$API_KEY" = "$HALF-$HALF" ] && [ "$MODE" = plain ] || exit 9
[ "$https_proxy" = "http://ada:$HALF-$HALF@proxy" ] && [ "$HTTP_PROXY" = "http://proxy" ] || exit 9\n${REPORT}`;
    const proxies = { https_proxy: `http://ada:${secret}@proxy`, HTTP_PROXY: "http://proxy" };
    const session = await begin(rig, {
      roles: roles(script, { API_KEY: secret, HALF: "hunter2", MODE: "plain", ...proxies }),
      agentFor: crew([instructed("a")], {}, { hand: cli() }),
    });
    expect(await run(session)).toEqual(DONE);
    const [opened] = logOf(rig, session.session_id, "session_opened");
    const telling = readdirSync(rig.home, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(json|log|md)$/.test(name))
      .filter((name) => readFileSync(join(rig.home, name), "utf8").includes(secret));
    expect(telling).toEqual([]);
    expect(opened?.payload["roles"]).toMatchObject([
      {},
      { env: { API_KEY: "[withheld]", MODE: "plain", https_proxy: "[withheld]", HTTP_PROXY: "http://proxy" } },
    ]);
  });

  it("is required by name at resume if secrets are missing", async () => {
    const rig = newRig();
    const script = `[ "$API_KEY" = "$HALF-$HALF" ] || exit 9\n${REPORT}`;
    const session = await begin(rig, {
      roles: roles(script, { API_KEY: "hunter2-hunter2", HALF: "hunter2" }),
      agentFor: crew([instructed("a")], {}, { hand: cli() }),
      config: { budget: { turns: 1 } },
    });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "limit" });
    const more = { limits: { turns: 50 } };
    const choices = { agentFor: crew([instructed("a")], {}, { hand: cli() }) };
    const row = value(rig.store.session(session.session_id));
    vi.stubEnv("API_KEY", undefined);
    const without = failureOf(await resumeSession(surroundings(rig, choices), scheduleMode, row, more));
    expect(without.code).toBe("environment");
    expect(without.message).toContain("API_KEY of the role hand");
    expect(without.hint).toContain(`API_KEY=… bosun resume ${session.session_id}`);
    vi.stubEnv("API_KEY", "hunter2-hunter2");
    expect(await run(await resume(rig, session.session_id, choices, more))).toEqual({
      kind: "closed",
      outcome: "done",
    });
  });
});
