import type { PermissionRequest } from "../../../kernel/agent.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../../../lib/json.ts";
import { permissionRequest } from "../../permission-request.ts";
import { changesOf, plainCommand } from "./codex-items.ts";

/** A permission that codex asks for, and the reply to it. */
export interface WantedPermission {
  readonly request: PermissionRequest;
  /** The command to run outside of the sandbox, if it is one. */
  readonly command?: string;
  readonly reply: (granted: boolean) => JsonObject;
}

/** The permission that a request of codex is about. Undefined for other requests. `item` is the item that the request names. */
export function permissionIn(
  method: string,
  params: JsonObject,
  item: JsonObject,
  workspace: string,
): WantedPermission | undefined {
  switch (method) {
    case "item/commandExecution/requestApproval":
      return commandPermission(params);
    case "item/fileChange/requestApproval":
      return { request: changeRequest(params, item, workspace), reply: decision };
    case "item/permissions/requestApproval": {
      const permissions = withoutNulls(objectOf(params["permissions"]));
      const reply = (granted: boolean) => ({ permissions: granted ? permissions : {}, scope: "turn" });
      return { request: accessRequest(params, permissions), reply };
    }
    default:
      return undefined;
  }
}

/** Never grants for codex's whole session: Bosun keeps the grants. */
function decision(granted: boolean): JsonObject {
  return { decision: granted ? "accept" : "decline" };
}

function commandPermission(params: JsonObject): WantedPermission {
  const host = textOf(objectOf(params["networkApprovalContext"])["host"]);
  const command = plainCommand(textOf(params["command"]));
  if (host !== "") return { request: asked(`network: ${host}`, params, command), reply: decision };
  // A request to send input does not say to which command.
  if (params["kind"] === "writeStdin") return { request: asked(`type: ${command}`, params, command), reply: decision };
  return { request: asked(`run: ${command}`, params, command), reply: decision, command };
}

function changeRequest(params: JsonObject, item: JsonObject, workspace: string): PermissionRequest {
  const changes = changesOf(item, workspace);
  const root = textOf(params["grantRoot"]);
  const paths = changes.length === 0 ? root : changes.map(({ path }) => path).join(", ");
  const details = changes.map(({ verb, path, diff }) => `${verb} ${path}\n${diff}`).join("\n");
  return asked(`write: ${paths}`, params, details);
}

function accessRequest(params: JsonObject, { network, fileSystem }: JsonObject): PermissionRequest {
  const paths = (access: string) => listOf(objectOf(fileSystem)[access]).map(textOf).join(", ");
  const written = paths("write");
  const wants = [
    ...(network === undefined ? [] : ["network"]),
    ...(written === "" ? [] : [`write: ${written}`]),
    ...(paths("read") === "" ? [] : [`read: ${paths("read")}`]),
  ];
  return asked(wants.join("; ") || "more access", params, JSON.stringify({ network, fileSystem }));
}

function asked(action: string, params: JsonObject, details: string): PermissionRequest {
  return permissionRequest(action, details, textOf(params["reason"]));
}

function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null));
}
