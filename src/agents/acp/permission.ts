import { isAbsolute, relative, resolve } from "node:path";
import type { PermissionRequest, TurnRequest } from "../../kernel/agent.ts";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { permissionsOf } from "../../protocol/roles.ts";
import { isAllowedCommand } from "../allowed-commands.ts";
import { permissionRequest } from "../permission-request.ts";
import { commandOf } from "./updates.ts";

/** A tool call for which an agent asks permission. */
interface AskedCall {
  readonly title: string;
  readonly kind: string;
  readonly input: JsonObject;
}

const READS: ReadonlySet<string> = new Set(["read", "search", "think"]);
/** Without a location, these read the workspace, or nothing. */
const READS_HERE: ReadonlySet<string> = new Set(["search", "think"]);
const WRITES: ReadonlySet<string> = new Set(["edit", "delete", "move"]);

/** Fields of a tool's input that name paths. The pattern of a search can be a path, too. */
const PLACE = /(?:path|file|dir|directory|folder|root|cwd|uri|glob|pattern)s?$/i;

/** Whether the role may do this anyway, may not, or a person has to be asked. `told` is the call as it came with the request. */
export function decide(
  { role, payload }: TurnRequest,
  call: AskedCall,
  told: JsonObject,
): "allow" | "deny" | PermissionRequest {
  const { write, commands, network, ask } = permissionsOf(role);
  const { workspace, artifacts_dir } = payload;
  const command = commandOf(call);
  const locations = [...new Set([...locationsOf(told), ...placesIn(call.input)])];
  if (READS.has(call.kind) && (locations.length > 0 || READS_HERE.has(call.kind))) {
    if (locations.every((path) => isWithin(workspace, workspace, path))) return "allow";
  }
  if (WRITES.has(call.kind) && write === "workspace" && locations.length > 0) {
    if (locations.every((path) => [workspace, artifacts_dir].some((folder) => isWithin(folder, workspace, path))))
      return "allow";
  }
  if (command !== undefined && isAllowedCommand(command, commands)) return "allow";
  if (call.kind === "fetch" && network !== undefined) return network ? "allow" : "deny";
  if (ask === "deny") return "deny";
  return requestOf(call, command, locations, listOf(told.content));
}

/** The paths that a tool call names outside of its input. */
function locationsOf(call: JsonObject): string[] {
  const diffs = listOf(call.content)
    .map(objectOf)
    .filter(({ type }) => type === "diff");
  const named = [...listOf(call.locations).map(objectOf), ...diffs].map(({ path }) => path);
  return named.filter((path) => typeof path === "string");
}

/** The paths in a tool's input: not every agent reports them as locations. */
function placesIn(value: Json | undefined, name = ""): string[] {
  if (typeof value === "string") return PLACE.test(name) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((one: Json) => placesIn(one, name));
  return Object.entries(objectOf(value)).flatMap(([key, inner]) => placesIn(inner, key));
}

/** The option to answer with. Permission is granted only once each time, so that the role's permissions do not change. */
export function optionFor(
  granted: boolean,
  options: readonly { optionId: string; kind: string }[],
): string | undefined {
  const kinds = granted ? ["allow_once"] : ["reject_once", "reject_always"];
  return kinds.flatMap((kind) => options.find((option) => option.kind === kind)?.optionId ?? [])[0];
}

function requestOf(
  call: AskedCall,
  command: string | undefined,
  locations: readonly string[],
  content: readonly Json[],
): PermissionRequest {
  const { description } = call.input;
  const what = WRITES.has(call.kind) && locations.length > 0 ? `write: ${locations.join(", ")}` : `use: ${call.title}`;
  const hasInput = Object.keys(call.input).length > 0;
  // Some agents report the input only as content to show, such as a patch.
  const told = hasInput ? [call.input] : content;
  return permissionRequest(
    command === undefined ? what : `run: ${command}`,
    command !== undefined && !hasInput ? command : told.map((part) => JSON.stringify(part, undefined, 2)).join("\n"),
    typeof description === "string" ? description : "",
  );
}

function isWithin(folder: string, workspace: string, path: string): boolean {
  // A path in a home directory or a URL, which agents resolve themselves.
  if (/^(?:~|\w+:\/)/.test(path)) return false;
  const inner = relative(folder, resolve(workspace, path));
  return inner !== ".." && !inner.startsWith("../") && !isAbsolute(inner);
}
