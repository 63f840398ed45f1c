import { isAbsolute, relative, resolve } from "node:path";
import type { PermissionRequest, TurnRequest } from "../../kernel/agent.ts";
import { type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { permissionsOf } from "../../protocol/roles.ts";
import { isAllowedCommand } from "../allowed-commands.ts";
import { commandOf } from "./updates.ts";

/** A tool call for which an agent asks permission. */
interface AskedCall {
  readonly title: string;
  readonly kind: string;
  readonly input: JsonObject;
}

const READS: ReadonlySet<string> = new Set(["read", "search", "think"]);
const WRITES: ReadonlySet<string> = new Set(["edit", "delete", "move"]);

/** Whether the role may do this anyway, may not, or a person is asked. */
export function decide(
  { role, payload }: TurnRequest,
  call: AskedCall,
  locations: readonly string[],
): "allow" | "deny" | PermissionRequest {
  const { write, commands, network, ask } = permissionsOf(role);
  const { workspace, artifacts_dir } = payload;
  const command = commandOf(call);
  if (READS.has(call.kind) && locations.every((path) => isWithin(workspace, workspace, path))) return "allow";
  if (WRITES.has(call.kind) && write === "workspace" && locations.length > 0) {
    if (locations.every((path) => [workspace, artifacts_dir].some((folder) => isWithin(folder, workspace, path))))
      return "allow";
  }
  if (command !== undefined && isAllowedCommand(command, commands)) return "allow";
  if (call.kind === "fetch" && network !== undefined) return network ? "allow" : "deny";
  if (ask === "deny") return "deny";
  return requestOf(call, command, locations);
}

/** The places that a tool call names. */
export function locationsOf(call: JsonObject): string[] {
  const diffs = listOf(call.content)
    .map(objectOf)
    .filter(({ type }) => type === "diff");
  const named = [...listOf(call.locations).map(objectOf), ...diffs].map(({ path }) => path);
  return named.filter((path) => typeof path === "string");
}

/** The option to answer with. Permission is given once each time, so that the role's permissions stay what they are. */
export function optionFor(
  granted: boolean,
  options: readonly { optionId: string; kind: string }[],
): string | undefined {
  const kinds = granted ? ["allow_once"] : ["reject_once", "reject_always"];
  return kinds.flatMap((kind) => options.find((option) => option.kind === kind)?.optionId ?? [])[0];
}

function requestOf(call: AskedCall, command: string | undefined, locations: readonly string[]): PermissionRequest {
  const { description } = call.input;
  const what = WRITES.has(call.kind) && locations.length > 0 ? `write: ${locations.join(", ")}` : `use: ${call.title}`;
  return {
    // A line end separates commands, as a semicolon does.
    action: (command === undefined ? what : `run: ${command}`).trim().replaceAll(/\s*\n\s*/g, "; "),
    ...(Object.keys(call.input).length > 0 ? { details: JSON.stringify(call.input, undefined, 2) } : {}),
    ...(typeof description === "string" ? { why: description } : {}),
  };
}

function isWithin(folder: string, workspace: string, path: string): boolean {
  const inner = relative(folder, resolve(workspace, path));
  return inner !== ".." && !inner.startsWith("../") && !isAbsolute(inner);
}
