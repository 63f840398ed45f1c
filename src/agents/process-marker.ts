import { realPath } from "../lib/files.ts";
import { environmentOf } from "./process-table.ts";

/**
 * The environment variables that mark the processes of one agent, check or notification. Child processes inherit them unless they clear their
 * environment. All of them are compared, because a check and an agent of the same ticket have different markers.
 */
const NAMES = [
  "BOSUN_SESSION_ID",
  "BOSUN_TURN_ID",
  "BOSUN_TICKET_ID",
  "BOSUN_ATTEMPT",
  "BOSUN_ROLE_ID",
  "BOSUN_ARTIFACTS_DIR",
  "BOSUN_SLOT",
  "BOSUN_EVENT",
  "BOSUN_START",
] as const;

let starts = 0;

/**
 * Adds an id for this start of a program. Without it, a scheduler that was frozen would mistake its successor's agent, which works for the same turn,
 * for its own and end it.
 */
export function withStartId(environment: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (environment["BOSUN_SESSION_ID"] === undefined) return environment;
  starts += 1;
  return { ...environment, BOSUN_START: `${process.pid}.${starts}` };
}

/** The marker variables of a launched process; empty if it belongs to no session. */
export type ProcessMarker = ReadonlyMap<string, string>;

const NONE: ProcessMarker = new Map();

/** Marks all processes of a session. Another home may have a session with the same id, but not the same folder. */
export interface SessionMarker {
  readonly session_id: string;
  /** An absolute path; the artifacts of all the session's agents are below it. */
  readonly folder: string;
}

export function markerOf(environment: Readonly<Record<string, string>>): ProcessMarker {
  if (environment["BOSUN_SESSION_ID"] === undefined) return NONE;
  return new Map(NAMES.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])));
}

/** The marker of a running process; empty if it belongs to no session, and on platforms other than Linux. */
export function markerOfProcess(pid: number): ProcessMarker {
  return markerOf(Object.fromEntries(variablesOf(pid)));
}

/** Whether the process descends from the one with this marker. Always false on platforms other than Linux. */
export function hasMarker(pid: number, marker: ProcessMarker): boolean {
  const theirs = variablesOf(pid);
  return marker.size > 0 && NAMES.every((name) => theirs.get(name) === marker.get(name));
}

/** Whether the process descends from an agent, check or notification of this session. Always false on platforms other than Linux. */
export function belongsToSession(pid: number, { session_id, folder }: SessionMarker): boolean {
  const theirs = variablesOf(pid);
  if (theirs.get("BOSUN_SESSION_ID") !== session_id) return false;
  return realPath(theirs.get("BOSUN_ARTIFACTS_DIR") ?? "").startsWith(`${realPath(folder)}/`);
}

function variablesOf(pid: number): ReadonlyMap<string, string> {
  return new Map(
    environmentOf(pid).flatMap((variable) => {
      const [name = "", ...value] = variable.split("=");
      return name.startsWith("BOSUN_") ? [[name, value.join("=")]] : [];
    }),
  );
}
