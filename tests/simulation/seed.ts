import { isDeepStrictEqual } from "node:util";
import { type JsonObject, listOf, textOf } from "../../src/lib/json.ts";
import type { PlayCounts } from "./plays.ts";
import { scenarioOf } from "./scenario.ts";
import { type Execution, simulate } from "./simulation.ts";
import type { Violation } from "./world.ts";

/** The result of a seed: of one run, or of two whose reports were compared. */
export interface SeedResult {
  readonly violation: Violation | undefined;
  readonly events: number;
  readonly records: number;
  readonly crashes: number;
  readonly children: number;
  readonly compared: boolean;
  readonly plays: PlayCounts;
}

/**
 * Runs a seed. If its scenario is comparable, runs it again without misfortunes: both must end with the same report,
 * unless one was calmed.
 */
export async function simulateSeed(seed: number, trace?: string[]): Promise<SeedResult> {
  const disturbed = await simulate(seed, false, trace);
  const { comparable, roles } = scenarioOf(seed);
  const { violation, events, records, crashes, children, plays } = disturbed;
  if (violation || !comparable) return { violation, events, records, crashes, children, plays, compared: false };
  trace?.push("and once more without misfortunes");
  const undisturbed = await simulate(seed, true, trace);
  const compared = !disturbed.isCalmed && !undisturbed.isCalmed;
  const workers = roles.filter((role) => role.type === "worker").length;
  return {
    violation: undisturbed.violation ?? (compared ? difference(disturbed, undisturbed, workers === 1) : undefined),
    events: events + undisturbed.events,
    records: records + undisturbed.records,
    crashes,
    children,
    plays,
    compared,
  };
}

function difference(disturbed: Execution, undisturbed: Execution, ownersToo: boolean): Violation | undefined {
  const [mine, its] = [disturbed, undisturbed].map(({ reports }) => comparableReport(reports.at(-1) ?? {}, ownersToo));
  if (isDeepStrictEqual(mine, its)) return undefined;
  return {
    invariant: "a disturbed session ends with the report of an undisturbed one",
    seen: `${JSON.stringify(mine)}\nis not\n${JSON.stringify(its)}`,
  };
}

/** A report without what a crash may change: times, usage, recoveries, the log, what an agent asked for in vain, and which of several workers took a ticket. */
function comparableReport(report: JsonObject, ownersToo: boolean): JsonObject {
  const { started_at: _, finished_at: _f, usage: _u, recoveries: _r, log: _l, next_steps = [], ...rest } = report;
  const tickets = ((rest["tickets"] ?? []) as JsonObject[]).map(
    ({ owner, artifacts, usage: _used, issues, ...ticket }) => ({
      ...ticket,
      issues: listOf(issues).filter((issue) => !textOf(issue).startsWith("Denied: ")),
      ...(ownersToo ? { owner } : {}),
      artifacts: sorted(artifacts as JsonObject[]),
    }),
  );
  return { ...rest, tickets: sorted(tickets), next_steps: sorted(next_steps as string[]) };
}

function sorted<T>(list: readonly T[]): T[] {
  return list.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}
