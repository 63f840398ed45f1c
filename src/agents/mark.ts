import { realpathSync } from "node:fs";
import { environmentOf } from "./process-table.ts";

/**
 * The variables that tell the processes of one agent, check or notification from everybody else's. Whatever these start inherits
 * them, unless it clears its environment. All of them count: the mark of a check is not that of an agent that works for the same
 * ticket.
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
 * The environment with a name for this one start of a program. Without it a scheduler that was frozen would take the agent of its
 * successor, which works for the same turn, for one of its own, and end it.
 */
export function withStart(environment: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  if (environment["BOSUN_SESSION_ID"] === undefined) return environment;
  starts += 1;
  return { ...environment, BOSUN_START: `${process.pid}.${starts}` };
}

/** What the environment of a launched process says of it; empty for one that is nobody's turn. */
export type Mark = ReadonlyMap<string, string>;

const NONE: Mark = new Map();

/** The session that processes are looked for of. A session's id may be used again in another home, its folder is nobody else's. */
export interface SessionMark {
  readonly session_id: string;
  /** Absolute; all its agents' artifacts lie below it. */
  readonly folder: string;
}

/** The mark that a process with this environment bears. */
export function markOf(environment: Readonly<Record<string, string>>): Mark {
  if (environment["BOSUN_SESSION_ID"] === undefined) return NONE;
  return new Map(NAMES.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]])));
}

/** Whether that process was started, at whatever remove, by the one that was given this mark. Only Linux can tell. */
export function bears(pid: number, mark: Mark): boolean {
  const theirs = variablesOf(pid);
  return mark.size > 0 && NAMES.every((name) => theirs.get(name) === mark.get(name));
}

/** Whether that process was started, at whatever remove, by an agent or a check of this session. Only Linux can tell. */
export function belongsTo(pid: number, { session_id, folder }: SessionMark): boolean {
  const theirs = variablesOf(pid);
  if (theirs.get("BOSUN_SESSION_ID") !== session_id) return false;
  return runtimeEnvironment(theirs.get("BOSUN_ARTIFACTS_DIR") ?? "").startsWith(`${runtimeEnvironment(folder)}/`);
}

/** Where a path really leads, since a home can be named through a symbolic link at one time and not at another. */
function runtimeEnvironment(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function variablesOf(pid: number): ReadonlyMap<string, string> {
  return new Map(
    environmentOf(pid).flatMap((variable) => {
      const [name = "", ...value] = variable.split("=");
      return name.startsWith("BOSUN_") ? [[name, value.join("=")]] : [];
    }),
  );
}
