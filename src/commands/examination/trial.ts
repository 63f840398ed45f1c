import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { loneRequest } from "../../agents/conformance/request.ts";
import { embeddedLauncher } from "../../agents/embedded-launcher.ts";
import { watchedLauncher } from "../../agents/launcher.ts";
import { stateFolder } from "../../config/home.ts";
import type { CompleteRole } from "../../config/role-defaults.ts";
import type { Agent, TurnContext, TurnResult } from "../../kernel/agent.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { NO_SECRETS } from "../../lib/withholder.ts";
import { spentWords } from "../../log/usage-words.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { ResolvedConfiguration, Usage } from "../../protocol/payload.ts";
import { systemClock } from "../../runtime/time/clock.ts";
import { priced } from "../../runtime/turns/reported.ts";
import type { CommandContext } from "../context/command.ts";
import { watchSignals } from "../context/signals.ts";
import { agentsOf } from "./agents.ts";
import { because, type Finding } from "./finding.ts";

/** What came of one turn that asks for nothing. */
export interface Trial {
  readonly role_id: string;
  readonly seconds: number;
  readonly usage?: Usage | undefined;
  /** Undefined if the role answered. */
  readonly failure?: Failure | undefined;
}

/** How long a program may take, in ms: it has nothing to do. */
const PATIENCE_MS = 180_000;

/** How many lines of stderr a failed turn shows. */
const LAST_WORDS = 5;

const ASKED = "This only tests whether you can be reached. Read nothing, run nothing, change nothing.";

const REQUIREMENT = `${ASKED} Answer at once with a clarification of the status "complete" and no questions.`;

/** The turn of a manager, and of all others: the smallest answer that it can give, beside the others that it usually has. */
const TURNS: Readonly<Record<"manager" | "worker", JsonObject>> = {
  manager: {
    expects: ["clarification", "error", "plan"],
    message: { payload_type: "requirement", payload: { text: REQUIREMENT } },
    context: { requirement: REQUIREMENT },
  },
  worker: {
    expects: ["error", "report"],
    message: {
      payload_type: "instruction",
      payload: { summary: `${ASKED} Answer at once with a report of the status "completed".`, steps: [] },
    },
    context: {
      ticket: {
        ticket_id: "test",
        task_id: "test",
        status: "in_progress",
        history: [],
        task: { task_id: "test", description: ASKED },
      },
    },
  },
};

/** Nothing is recorded, and nobody is asked. */
const ALONE: Omit<TurnContext, "signal"> = {
  started: () => Promise.resolve(),
  emit: () => {},
  secrets: NO_SECRETS,
  permit: () => Promise.resolve({ granted: false, notes: "This turn needs no permission." }),
};

/** A turn of each role, all at once. `heard` gets each as it ends. */
export async function tryRoles(
  context: CommandContext,
  roles: readonly CompleteRole[],
  config: ResolvedConfiguration,
  heard: (trial: Trial) => void,
): Promise<Fallible<readonly Trial[]>> {
  const { launcher, killAll } = watchedLauncher(embeddedLauncher(context.environment.PATH));
  const agentFor = agentsOf(launcher, config, context.environment, { hidden: [stateFolder(context.environment)] });
  const stopped = new AbortController();
  const signals = watchSignals({ stop: () => stopped.abort(), kill: killAll }, context.leave);
  try {
    const trials = await Promise.all(
      roles.map(async (role) => {
        const trial = await tryRole(agentFor(role), role, stopped.signal);
        if (!stopped.signal.aborted) heard(trial);
        return trial;
      }),
    );
    return stopped.signal.aborted ? fails("interrupted", "The trial was stopped.") : ok(trials);
  } finally {
    signals.restore();
  }
}

/** One turn of a role, in a folder of its own that is removed afterwards. */
async function tryRole(agent: Agent, role: CompleteRole, signal: AbortSignal): Promise<Trial> {
  const directory = mkdtempSync(join(tmpdir(), "bosun-doctor-"));
  const began = systemClock.monotonic();
  try {
    const request = loneRequest({
      // Programs keep conversations by it.
      session_id: `s-${basename(directory)}`,
      at: systemClock.now(),
      role,
      turn: TURNS[role.type === "manager" ? "manager" : "worker"],
      directory,
      timeout_ms: Math.min(role.timeout_s * 1000, PATIENCE_MS),
    });
    const result = await agent.turn(request, { signal, ...ALONE });
    const seconds = Math.round((systemClock.monotonic() - began) / 100) / 10;
    return { role_id: role.role_id, seconds, usage: priced(result.usage, role), failure: failureOf(result) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export function trialFinding({ role_id, seconds, usage, failure: failed }: Trial): Finding {
  const name = `try ${role_id}`;
  const unknown = { turns: 1, input_tokens: null, output_tokens: null, cost_usd: null };
  const used = usage === undefined ? `${seconds} s` : `${seconds} s, ${spentWords({ ...unknown, ...usage })}`;
  if (failed === undefined) return { name, state: "ok", what: `answered in ${used}` };
  const { stderr_tail = "" } = (failed.details ?? {}) as { readonly stderr_tail?: string };
  const last = stderr_tail.split("\n").slice(-LAST_WORDS);
  return because(name, { ...failed, message: [`${failed.message} (${failed.code}; ${used})`, ...last].join("\n") });
}

/** A role that answers `error` could be reached, but cannot do what every turn needs. */
function failureOf({ failure: failed, answer }: TurnResult): Failure | undefined {
  if (failed !== undefined) return failed;
  if (answer?.payload_type !== "error") return undefined;
  const { message } = answer.payload as { readonly message?: string };
  return failure("agent_failed", `It answers: ${message ?? "error"}`);
}
