import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { cliAgent } from "../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { createSession } from "../../src/runtime/create.ts";
import { systemClock } from "../../src/runtime/time/clock.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { SESSION } from "./sessions.ts";

export interface HostileOrder {
  readonly home: string;
  /** The path of hostile-worker.ts. */
  readonly worker: string;
  readonly mode: string;
  /** How many hostile agents work at once, and how much each prints. */
  readonly agents: number;
  readonly bytes: number;
}

/** How late everything else was meanwhile, in ms. */
export interface Lateness {
  /** The delay of the event loop. */
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  /** The same without the time for which this process waited for a processor, where the system tells it: steadier on a busy machine. */
  readonly own_p99: number;
  readonly own_max: number;
  /** From the writing of an honest agent's message until it is on record. */
  readonly told_p50: number;
  readonly told_max: number;
  /** From the start of the first hostile agent until the last is gone. */
  readonly took: number;
}

const HONEST = "honest";
const HOSTILE = "hostile";
/** Every so many ms the delay of the event loop is looked at. */
const RESOLUTION_MS = 5;

/** A session in which hostile programs work beside an honest one, which tells its progress until they are gone. */
export async function besideHostile(order: HostileOrder): Promise<Lateness> {
  const { home, mode, agents } = order;
  const opened = openStore(home);
  if (!opened.ok) throw new Error(opened.error.message);
  const store = opened.value;
  const over = join(home, "over");
  const [dialect] = mode.split("-");
  const config: ResolvedConfiguration = {
    ...CONFIGURATION_DEFAULTS,
    max_workers: agents + 1,
    max_retries: 0,
    workspace: home,
    plan_approval: "never",
  };
  const launcher = embeddedLauncher();
  const manager = scriptedAgent(({ payload }) =>
    payload.message.payload_type === "review_request"
      ? { payload_type: "review", payload: { decision: "approved" } }
      : { payload_type: "error", payload: { code: "agent_failed", message: "So be it." } },
  );
  const programs = cliAgent({
    launcher,
    settings: {
      kill_grace_ms: 1_000,
      answer_grace_ms: 30_000,
      max_line_bytes: config.max_line_bytes,
      max_output_bytes: config.max_output_bytes,
      environment: process.env,
    },
  });
  const command = (...words: string[]) => [process.execPath, order.worker, ...words];
  const roles: Role[] = [
    { role_id: "manager", type: "manager", backend: "scripted", max_instances: agents + 1 },
    { role_id: HONEST, type: "worker", cli_command: command(HONEST, over) },
    {
      role_id: HOSTILE,
      type: "worker",
      max_instances: agents,
      cli_command: command(mode, String(order.bytes)),
      ...(dialect === "claude" || dialect === "codex" ? { dialect } : {}),
    },
  ];
  const task = (task_id: string, role_id: string) => ({
    task_id,
    description: "Work",
    assigned_to: { role_id },
    instruction: { summary: "Work" },
  });
  const made = await createSession(
    {
      home,
      store,
      clock: systemClock,
      launcher,
      version: "0.0.0",
      files: true,
      agentFor: (role) => (role.type === "manager" ? manager : programs),
    },
    scheduleMode,
    {
      session_id: SESSION,
      requirement: "Measure the scheduler",
      input: { plan_given: true },
      config,
      roles,
      workspace: home,
      started_by: { user: "bench", host: "localhost", via: "cli" },
      facts: [
        { payload_type: "requirement", payload: { text: "Measure the scheduler" } },
        {
          payload_type: "plan",
          payload: {
            summary: "A plan to be measured",
            tasks: [
              task(HONEST, HONEST),
              ...Array.from({ length: agents }, (_, index) => task(`${HOSTILE}-${index}`, HOSTILE)),
            ],
          },
        },
      ],
    },
  );
  if (!made.ok) throw new Error(made.error.message);
  const session = made.value;
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const told: number[] = [];
  let began = 0;
  let gone = 0;
  let took = 0;
  const own: number[] = [];
  let looked = performance.now();
  let waited = waitedForProcessor();
  const looking = setInterval(() => {
    const [from, waitedBefore] = [looked, waited];
    [looked, waited] = [performance.now(), waitedForProcessor()];
    if (began > 0) own.push(Math.max(0, looked - from - RESOLUTION_MS - (waited - waitedBefore)));
  }, RESOLUTION_MS);
  session.bus.subscribe((event) => {
    if (event.kind === "record") {
      const { source, payload } = event.record;
      if (source === HONEST && payload["status"] === "progress")
        told.push(performance.timeOrigin + performance.now() - Number(payload["summary"]));
    } else if (event.kind === "turn_started" && event.role_id === HOSTILE && began === 0) {
      began = performance.now();
      loop.enable();
    } else if (event.kind === "turn_ended" && event.role_id === HOSTILE) {
      gone += 1;
      if (gone < agents) return;
      took = performance.now() - began;
      writeFileSync(over, "");
    }
  });
  const end = await session.run({ waitForPeople: false });
  loop.disable();
  clearInterval(looking);
  store.close();
  if (!end.ok || end.value.kind !== "closed") throw new Error(`the session did not close: ${JSON.stringify(end)}`);
  told.sort((a, b) => a - b);
  own.sort((a, b) => a - b);
  // A measurement that is on time counts the resolution as delay.
  const delay = (ns: number) => Math.max(0, ns / 1e6 - RESOLUTION_MS);
  return {
    p50: delay(loop.percentile(50)),
    p99: delay(loop.percentile(99)),
    max: delay(loop.max),
    own_p99: own[Math.floor(own.length * 0.99)] ?? Number.NaN,
    own_max: own.at(-1) ?? Number.NaN,
    told_p50: told[Math.floor(told.length / 2)] ?? Number.NaN,
    told_max: told.at(-1) ?? Number.NaN,
    took,
  };
}

/** How long the main thread has waited for a processor so far, in ms. */
function waitedForProcessor(): number {
  if (process.platform !== "linux") return 0;
  return Number(readFileSync("/proc/self/schedstat", "latin1").split(" ")[1]) / 1e6;
}
