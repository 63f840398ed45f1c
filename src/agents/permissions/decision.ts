import type { Permission, PermissionRequest, TurnRequest } from "../../kernel/agent.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { isAllowedCommand } from "../../protocol/allowed-commands.ts";
import { permissionsOf } from "../../protocol/roles.ts";
import { areWithin, detours, isWorkspace, mayBeWritten } from "./places.ts";

/** A program's request, whatever its dialect. What is not in it is neither compared nor shown. */
export interface AskedPermission {
  readonly kind: "run" | "read" | "write" | "fetch" | "other";
  /** In one line for a person: `run: npm test`. */
  readonly action: string;
  /** The whole command, patch or input, as far as the line leaves something out. */
  readonly whole: string;
  readonly why: string;
  readonly command?: string;
  /** Every text that can be a path. */
  readonly places?: readonly string[];
  /** What else the program would do or get: another folder, variables, rights, members that Bosun does not know (`extrasIn`). */
  readonly extras?: JsonObject;
}

/**
 * What Bosun grants by the role's permissions. The other requests come to a person: what needs none is granted by the program itself or its sandbox.
 * docs/agents/permissions.md shows who decides what.
 */
export const DECIDED_HERE = {
  claude: [],
  codex: ["run"],
  acp: ["run", "read", "write", "fetch"],
  model: ["run"],
} as const satisfies Record<string, readonly AskedPermission["kind"][]>;

/** Maximum number of texts whose paths are followed. Nobody reads more. */
const MAX_PLACES = 200;

/** Names of the folder that a command runs in. */
const FOLDER = /^(?:cwd|workdir|dir_path|(?:working_)?dir(?:ectory)?)$/;

const ADDRESS = /^https?:\/\//i;

/** Answers a request by the role's permissions; what they leave open, `permit` decides. */
export function answered(
  asked: AskedPermission,
  dialect: keyof typeof DECIDED_HERE,
  request: TurnRequest,
  permit: (request: PermissionRequest) => Promise<Permission>,
): Promise<Permission> {
  const decided: readonly AskedPermission["kind"][] = DECIDED_HERE[dialect];
  const granted = decided.includes(asked.kind) ? isGranted(asked, request) : undefined;
  return granted === undefined ? permit(requestOf(asked, request.payload.workspace)) : Promise.resolve({ granted });
}

/** Undefined if the role's permissions do not say. */
function isGranted(asked: AskedPermission, { role, payload }: TurnRequest): boolean | undefined {
  const { kind, command = "", places = [], extras = {} } = asked;
  const { write, commands, network } = permissionsOf(role);
  const { workspace, artifacts_dir } = payload;
  if (places.length > MAX_PLACES) return undefined;
  switch (kind) {
    case "run":
      return (Object.keys(extras).length === 0 && isAllowedCommand(command, commands)) || undefined;
    case "read":
      return areWithin(places, [workspace], workspace) || undefined;
    case "write":
      return (write === "workspace" && mayBeWritten(places, [artifacts_dir, workspace], workspace)) || undefined;
    case "fetch": {
      const local = places.filter((place) => !ADDRESS.test(place));
      return network === true ? areWithin(local, [workspace], workspace) || undefined : network;
    }
    case "other":
      return undefined;
  }
}

/** What a person is asked. A plain command has no details: it is exactly that command, in the workspace, with nothing else. */
export function requestOf(
  { action, whole, why, places = [], extras = {} }: AskedPermission,
  workspace: string,
): PermissionRequest {
  const led = detours(places.slice(0, MAX_PLACES), workspace);
  const more = { ...extras, ...(Object.keys(led).length === 0 ? {} : { leads_to: led }) };
  // A newline separates commands, as a semicolon does.
  const line = action.trim().replaceAll(/\s*\n\s*/g, "; ");
  const told = whole === "" && line !== action ? action : whole;
  const added = Object.keys(more).length === 0 ? [] : [JSON.stringify(more, undefined, 2)];
  const details = [...(told === "" ? [] : [told]), ...added].join("\n");
  return {
    action: line,
    ...(details === "" || line.endsWith(`: ${details}`) ? {} : { details }),
    ...(why === "" ? {} : { why }),
  };
}

/** The members of a request but the harmless ones, those that are empty, and the workspace as its folder. */
export function extrasIn(members: JsonObject, harmless: readonly string[], workspace: string): JsonObject {
  const isExtra = ([name, value]: [string, Json | undefined]) =>
    !harmless.includes(name) &&
    !/^(?:null|false|""|\[\]|\{\})$/.test(JSON.stringify(value ?? null)) &&
    !(FOLDER.test(name) && typeof value === "string" && isWorkspace(value, workspace));
  return Object.fromEntries(Object.entries(members).filter(isExtra));
}
