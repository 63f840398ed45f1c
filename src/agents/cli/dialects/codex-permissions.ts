import { type JsonObject, objectOf, textOf } from "../../../lib/json.ts";
import { type Asked, extrasIn } from "../../permissions/decision.ts";
import { changesOf, plainCommand } from "./codex-items.ts";

/** A permission that codex asks for, and the reply to it. */
export interface WantedPermission {
  readonly asked: Asked;
  readonly reply: (granted: boolean) => JsonObject;
}

/** Members that every request has, and proposals that a plain `accept` does not take up. */
const HARMLESS = [
  ...["threadId", "turnId", "itemId", "approvalId", "startedAtMs", "reason", "availableDecisions", "suggestedScope"],
  ...["commandActions", "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments"],
];

/** The permission that a request of codex is about. Undefined for other requests. `item` is the item that the request names. */
export function permissionIn(
  method: string,
  params: JsonObject,
  item: JsonObject,
  workspace: string,
): WantedPermission | undefined {
  const why = textOf(params["reason"]);
  const extrasOf = (members: JsonObject, ...shown: string[]) => extrasIn(members, [...HARMLESS, ...shown], workspace);
  switch (method) {
    case "item/commandExecution/requestApproval": {
      const { kind, environmentId } = params;
      const command = plainCommand(textOf(params["command"]) || textOf(item["command"]));
      const usual = [...(kind === "command" ? ["kind"] : []), ...(environmentId === "local" ? ["environmentId"] : [])];
      const extras = extrasOf({ ...params, cwd: params["cwd"] ?? item["cwd"] }, "command", ...usual);
      const host = textOf(objectOf(params["networkApprovalContext"])["host"]);
      // A request to send input does not say to which command.
      const action = host !== "" ? `network: ${host}` : kind === "writeStdin" ? `type: ${command}` : `run: ${command}`;
      const about = action.startsWith("run: ") ? "run" : "other";
      return { asked: { kind: about, action, whole: command, why, command, extras }, reply: decision };
    }
    case "item/fileChange/requestApproval": {
      const changes = changesOf(item, workspace);
      const root = textOf(params["grantRoot"]);
      const places = changes.map(({ path }) => path);
      const action = `write: ${[...places, ...(root === "" ? [] : [`everything below ${root}`])].join(", ")}`;
      const whole = changes.map(({ verb, path, diff }) => `${verb} ${path}\n${diff}`).join("\n");
      return { asked: { kind: "write", action, whole, why, places, extras: extrasOf(params) }, reply: decision };
    }
    case "item/permissions/requestApproval": {
      const given = objectOf(params["permissions"]);
      const permissions = Object.fromEntries(Object.entries(given).filter(([, inner]) => inner !== null));
      const action = `access: ${JSON.stringify(permissions)}`;
      const reply = (granted: boolean) => ({ permissions: granted ? permissions : {}, scope: "turn" });
      return { asked: { kind: "other", action, whole: "", why, extras: extrasOf(params, "permissions") }, reply };
    }
    default:
      return undefined;
  }
}

/** Never grants for codex's whole session: Bosun keeps the grants. */
function decision(granted: boolean): JsonObject {
  return { decision: granted ? "accept" : "decline" };
}
