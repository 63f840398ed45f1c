import { join } from "node:path";
import { cliAgent } from "../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { Agent } from "../../src/kernel/agent.ts";
import type { Mode } from "../../src/kernel/mode.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { debateMode } from "../../src/modes/debate/mode.ts";
import type { KitState } from "../../src/kernel/kit/state.ts";
import type { Debate, Debater } from "../../src/modes/debate/debate.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { systemClock } from "../../src/runtime/time/clock.ts";
import type { Surroundings } from "../../src/runtime/assemble.ts";
import { createSession } from "../../src/runtime/create.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { type Proof, verifySession } from "../../src/runtime/proof.ts";
import type { Session } from "../../src/runtime/session.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { INPUT } from "./stage.ts";
import { value } from "../results.ts";
import { recordsIn } from "../log-files.ts";

export const SESSION = "s-debate";

const CLI: Agent = cliAgent({
  launcher: embeddedLauncher(),
  settings: {
    kill_grace_ms: 2_000,
    answer_grace_ms: 2_000,
    max_line_bytes: 8_388_608,
    max_output_bytes: 67_108_864,
    environment: { PATH: process.env["PATH"] },
  },
});

/** A store in a directory of its own. The caller closes it. */
export function openHome(home: string, agent: Agent = CLI): Surroundings {
  return {
    home,
    store: value(openStore(home)),
    clock: systemClock,
    launcher: embeddedLauncher(),
    version: "0.1.0",
    agentFor: () => agent,
    files: true,
  };
}

export async function begin(
  around: Surroundings,
  roles: readonly Role[],
  input: JsonObject = {},
  config: Partial<ResolvedConfiguration> = {},
): Promise<Session<KitState<Debate, Debater>>> {
  const given = { ...INPUT, ...input };
  return value(
    await createSession(around, debateMode, {
      session_id: SESSION,
      requirement: given.topic,
      input: given,
      config: {
        ...CONFIGURATION_DEFAULTS,
        plan_approval: "never",
        workspace: around.home,
        retry_backoff_ms: 1,
        ...config,
      },
      roles,
      workspace: around.home,
      started_by: { user: "ada", host: "here", via: "test" },
      facts: [],
    }),
  );
}

export async function resume(
  around: Surroundings,
  change: { readonly limits?: JsonObject; readonly reopen?: string } = {},
): Promise<Session<KitState<Debate, Debater>>> {
  return value(await resumeSession(around, debateMode, value(around.store.session(SESSION)), change));
}

/** The verification of the session's files. */
export function proofOf(home: string): Proof {
  return value(verifySession(join(home, "logs", SESSION), new Map([["debate", debateMode as Mode<unknown>]])));
}

/** Every record of the session's log, in order. */
function logOf(home: string): LogRecord[] {
  return recordsIn(join(home, "logs", SESSION));
}

export function recordsOf(home: string, payload_type: string): LogRecord[] {
  return logOf(home).filter((record) => record.payload_type === payload_type);
}

export function reportOf(home: string): JsonObject {
  const report = recordsOf(home, "final_report").at(-1);
  if (!report) throw new Error("The session has no final report.");
  return report.payload;
}
