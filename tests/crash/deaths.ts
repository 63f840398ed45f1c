import { CRASH_POINTS, type CrashPoint } from "../../src/lib/crash-point.ts";
import { textOf } from "../../src/lib/json.ts";
import { MODES } from "../../src/modes/index.ts";
import type { LogRecord } from "../../src/protocol/record.ts";

/** How a scheduler dies: at the nth passing of a crash point, or so many ms after its start. */
export type Death =
  | { readonly point: CrashPoint; readonly passing: number }
  | { readonly after_ms: number; readonly point?: never };

/** A scenario and the deaths of its successive schedulers. As text: `work|turn_given:2,+120`. */
export interface Fate {
  readonly scenario: string;
  readonly deaths: readonly Death[];
}

export function fateText({ scenario, deaths }: Fate): string {
  return `${scenario}|${deaths.map((death) => (death.point ? `${death.point}:${death.passing}` : `+${death.after_ms}`)).join(",")}`;
}

/** Parses the output of `fateText`; throws for anything else. */
export function readFate(text: string): Fate {
  const [scenario = "", deaths = ""] = text.split("|");
  return {
    scenario,
    deaths: deaths.split(",").map((death) => {
      if (death.startsWith("+")) return { after_ms: Number(death.slice(1)) };
      const [name, passing = "1"] = death.split(":");
      const point = CRASH_POINTS.find((known) => known === name);
      if (!point) throw new Error(`${JSON.stringify(death)} is neither a crash point nor +milliseconds`);
      return { point, passing: Number(passing) };
    }),
  };
}

/** Points that only a resuming scheduler passes, after an earlier death. */
const ONLY_ON_RESUME: ReadonlySet<CrashPoint> = new Set(["leftovers_ended", "recovery_decided"]);

/** How often a whole session passes a point at least, by its log; points that the log does not show are passed once in each life. */
function passings(point: CrashPoint, log: readonly LogRecord[]): number {
  const records = (...types: string[]) => log.filter(({ payload_type }) => types.includes(payload_type)).length;
  const ended = log.filter(({ record }) => record.exit !== undefined).length;
  switch (point) {
    case "record_written":
    case "record_renamed":
      return log.length;
    case "before_commit":
    case "after_commit":
    case "after_publish":
    case "after_effects":
    case "events_appended":
      // At least the request and the end of each turn.
      return records("turn_request") + ended;
    case "turn_spawned":
    case "turn_pid_committed":
    case "turn_given":
    case "answer_held":
      return records("turn_request");
    case "turn_heard":
    case "artifact_copied":
    case "artifact_kept":
      return records("artifact_ref");
    case "check_spawned":
    case "check_pid_committed":
    case "check_running":
    case "check_ended":
      return records("check_result");
    case "notification_spawned":
    case "notification_pid_committed":
    case "notification_running":
    case "notification_ended": {
      // At least a question, or the stop for it, and the end.
      const config = log[0]?.payload["config"] as { readonly notify?: object } | undefined;
      return config?.notify ? 2 : 0;
    }
    case "child_begun":
    case "child_ended":
      return records("session_begun");
    case "timer_due":
      return records("timer_fired");
    case "inbox_read":
      return log.filter(({ source }) => source === "user").length - 1;
    case "stopping":
      return records("session_stopped");
    case "given_file_written":
      return log.some(({ payload }) => JSON.stringify(payload).includes('"plan_file"')) ? 1 : 0;
    case "mail_written":
      return MODES.get(textOf(log[0]?.payload["mode"]))?.reader.mailbox === undefined ? 0 : 3;
    case "drop_read":
      // A file that is read twice is taken once: tests/commands/council.test.ts.
      return 0;
    case "document_begun":
      return MODES.get(textOf(log[0]?.payload["mode"]))?.reader.presentation.document === undefined ? 0 : 1;
    default:
      return 1;
  }
}

/** A death at a point's first passing and one at a later passing, for the scenario with this undisturbed log; empty if it never passes the point. */
export function deathsAt(point: CrashPoint, log: readonly LogRecord[], random: () => number): Death[][] {
  const before: Death[] = ONLY_ON_RESUME.has(point) ? [{ point: "turn_given", passing: 1 }] : [];
  const most = passings(point, log);
  if (most < 1) return [];
  const first = [...before, { point, passing: 1 }];
  if (most === 1) return [first];
  // A resumed session passes the point less often, so the later passing is in the first half.
  return [first, [...before, { point, passing: 2 + Math.floor(random() * (most / 2)) }]];
}

/** Random deaths, at points and at times within the duration of an undisturbed session. */
export function anyDeaths(count: number, log: readonly LogRecord[], takes_ms: number, random: () => number): Death[] {
  const passed = CRASH_POINTS.filter((point) => passings(point, log) > 0);
  return Array.from({ length: count }, (): Death => {
    if (random() < 0.5) return { after_ms: Math.floor(random() * takes_ms) };
    const point = passed[Math.floor(random() * passed.length)] ?? "after_commit";
    return { point, passing: 1 + Math.floor(random() ** 2 * passings(point, log)) };
  });
}

/** Random numbers in [0, 1), the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
