import { cpSync } from "node:fs";
import { join } from "node:path";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import { cliAgent } from "../../src/agents/cli/agent.ts";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import type { Agent } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { scheduleMode } from "../../src/modes/schedule/mode.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { systemClock } from "../../src/runtime/time/clock.ts";
import { createSession } from "../../src/runtime/create.ts";
import { collectEarly } from "../../src/runtime/memory.ts";
import { openStore } from "../../src/store/sqlite-store.ts";

export const SESSION = "bench";

/** The shape of a measured plan: `tasks` in `layers` equal layers, each depending on two of the layer before. */
export interface Shape {
  readonly tasks: number;
  readonly layers: number;
}

/** Names a task by its layer and its place there. */
export function taskName(layer: number, place: number): string {
  return `t${layer}-${place}`;
}

/** The dependencies of task `place` in a layer of `width`: the same and the next place of the layer before. */
export function waitsFor(layer: number, place: number, width: number): string[] {
  if (layer === 0) return [];
  return [...new Set([place, (place + 1) % width])].map((before) => taskName(layer - 1, before));
}

function planOf({ tasks, layers }: Shape): JsonObject {
  const width = tasks / layers;
  const planned = Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: width }, (_, place) => ({
      task_id: taskName(layer, place),
      description: `Do part ${place} of step ${layer}`,
      dependencies: waitsFor(layer, place, width),
      instruction: { summary: `Do part ${place} of step ${layer} and say what came of it` },
    })),
  );
  // Parsed like a file or an agent's line: V8 keeps flat strings, and equal ids are one string.
  return JSON.parse(JSON.stringify({ summary: "A plan to be measured", tasks: planned.flat() })) as JsonObject;
}

function rolesOf({ program, programWorks = false }: SessionOrder): Role[] {
  const later =
    program === undefined || programWorks ? undefined : { backend: "cli" as const, cli_command: [...program] };
  const now =
    program !== undefined && programWorks ? { backend: "cli" as const, cli_command: [...program] } : undefined;
  const scripted = { backend: "scripted" as const };
  return [
    { role_id: "manager", type: "manager", max_instances: 64, ...(later ?? scripted) },
    { role_id: "worker", type: "worker", supports_multiple_instances: true, ...(later ?? now ?? scripted) },
  ];
}

/** The figures of a finished session. Times in ms, memory in MiB. */
export interface Finished {
  /** From the end of planning (the first turn of an agent) to the end of the session. */
  readonly working: number;
  /** This process's processor time; steadier than wall time on a busy machine. */
  readonly working_cpu: number;
  /** From the start of the session to that first turn: recording and checking the plan and creating its tickets. */
  readonly planning: number;
  readonly records: number;
  readonly commits: number;
  readonly record_bytes: number;
  /** Bytes of the records above 64 KiB, which hold the whole plan. */
  readonly largest_bytes: number;
  /** Cost of the last tenth of the tickets divided by that of the first. */
  readonly last_over_first: number;
  readonly rss_peak: number;
  readonly rss_planned: number;
}

export interface SessionOrder {
  readonly home: string;
  readonly shape: Shape;
  readonly max_workers: number;
  /** How often each worker tells its progress. */
  readonly notes?: number;
  /** Write a file for each record. */
  readonly files: boolean;
  /** The program recorded with the roles, for a later resume. */
  readonly program?: readonly string[];
  /** Run workers as programs; else they are functions in this process, like the manager. */
  readonly programWorks?: boolean;
  /** Stop the session after so many tickets. The state that a kill at that moment leaves is copied first. */
  readonly leave?: { readonly after: number; readonly copy: string };
}

/** Runs a whole session with a manager, and by default workers, that are functions in this process. */
export async function runSession(order: SessionOrder): Promise<Finished> {
  const { home, shape, max_workers, files, leave } = order;
  collectEarly();
  const opened = openStore(home);
  if (!opened.ok) throw new Error(opened.error.message);
  const store = opened.value;
  const launcher = embeddedLauncher();
  // Like the program.
  const environment = { ...process.env };
  const config: ResolvedConfiguration = {
    ...CONFIGURATION_DEFAULTS,
    max_workers,
    workspace: home,
    plan_approval: "never",
    budget: { turns: Number.MAX_SAFE_INTEGER, wall_s: 86_400 },
  };
  let commits = 0;
  let record_bytes = 0;
  let largest_bytes = 0;
  let first = 0;
  let rss_planned = 0;
  let cpu = process.cpuUsage();
  const marks: number[] = [];
  const tenth = Math.max(1, Math.floor(shape.tasks / 10));
  let reviews = 0;
  const began = performance.now();
  const noteFirst = () => {
    if (first !== 0) return;
    first = performance.now();
    cpu = process.cpuUsage();
    rss_planned = process.memoryUsage.rss() / 2 ** 20;
  };
  const manager = scriptedAgent(() => {
    reviews += 1;
    if (reviews % tenth === 0) marks.push(performance.now());
    if (leave && reviews === leave.after) {
      cpSync(home, leave.copy, { recursive: true });
      session.stop("signal", "left for a later run");
    }
    return { payload_type: "review", payload: { decision: "approved", notes: "It is what was asked for." } };
  });
  const hands: Agent = order.programWorks
    ? cliAgent({
        launcher,
        settings: {
          kill_grace_ms: 1_000,
          answer_grace_ms: 1_000,
          max_line_bytes: config.max_line_bytes,
          max_output_bytes: config.max_output_bytes,
          environment,
        },
      })
    : scriptedAgent((_, context) => {
        for (let note = 1; note <= (order.notes ?? 0); note++) {
          const payload = { status: "progress", summary: `Step ${note}: read three files and changed one of them.` };
          context.emit({ kind: "envelope", payload_type: "report", payload });
        }
        return {
          payload_type: "report",
          payload: { status: "completed", summary: "Done as instructed.", outputs: ["one line of output"] },
        };
      });
  const made = await createSession(
    {
      home,
      store: {
        ...store,
        commit(lease, commit) {
          commits += 1;
          for (const { line } of commit.records) {
            record_bytes += line.length;
            if (line.length > 65_536) largest_bytes += line.length;
          }
          return store.commit(lease, commit);
        },
      },
      clock: systemClock,
      launcher,
      version: "0.0.0",
      files,
      agentFor: (role) => {
        noteFirst();
        return role.type === "manager" ? manager : hands;
      },
    },
    scheduleMode,
    {
      session_id: SESSION,
      requirement: "Measure the scheduler",
      input: { plan_given: true },
      config,
      roles: rolesOf(order),
      workspace: home,
      started_by: { user: "bench", host: "localhost", via: "cli" },
      facts: [
        { payload_type: "requirement", payload: { text: "Measure the scheduler" } },
        { payload_type: "plan", payload: planOf(shape) },
      ],
    },
  );
  if (!made.ok) throw new Error(made.error.message);
  const session = made.value;
  const end = await session.run({ waitForPeople: false });
  const ended = performance.now();
  const { user, system } = process.cpuUsage(cpu);
  store.close();
  if (!end.ok) throw new Error(end.error.message);
  if (!leave && !(end.value.kind === "closed" && end.value.outcome === "done")) {
    throw new Error(`the session ended otherwise than done: ${JSON.stringify(end.value)}`);
  }
  const last = (marks[9] ?? ended) - (marks[8] ?? first);
  return {
    working: ended - first,
    working_cpu: (user + system) / 1_000,
    planning: first - began,
    records: session.sequence,
    commits,
    record_bytes,
    largest_bytes,
    last_over_first: last / ((marks[0] ?? ended) - first),
    rss_peak: process.resourceUsage().maxRSS / 1024,
    rss_planned,
  };
}

/** The folder of the measured session's log. */
export function logFolder(home: string): string {
  return join(home, "logs", SESSION);
}
