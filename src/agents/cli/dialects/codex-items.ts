import { relative } from "node:path";
import { type JsonObject, listOf, objectOf, textOf } from "../../../lib/json.ts";
import { type AskedPermission, extrasIn } from "../../permissions/decision.ts";
import { oneLine } from "../messages.ts";

/** One line for people that describes an item, empty for items that mean nothing to them. Accepts both of codex's protocols. */
export function itemLine(item: JsonObject, workspace: string): string {
  switch (typeOf(item)) {
    case "commandexecution":
      return oneLine(`$ ${plainCommand(textOf(item["command"]))}`);
    case "filechange":
      return oneLine(
        changesOf(item, workspace)
          .map(({ verb, path }) => `${verb} ${path}`)
          .join(", "),
      );
    case "reasoning":
      return oneLine(textOf(item["text"]) || listOf(item["summary"]).map(textOf).join(" "));
    case "agentmessage":
      return oneLine(withoutJson(textOf(item["text"])));
    case "mcptoolcall":
      return oneLine(`${textOf(item["server"])}.${textOf(item["tool"])}`);
    case "websearch":
      return oneLine(`search ${textOf(item["query"])}`);
    default:
      return "";
  }
}

export function isCommand(item: JsonObject): boolean {
  return typeOf(item) === "commandexecution";
}

/** Whether an item is a tool call, after which codex asks the model again. */
export function isCall(item: JsonObject): boolean {
  return ["commandexecution", "filechange", "mcptoolcall", "websearch"].includes(typeOf(item));
}

/** `file_change` and `fileChange` are the same in codex's two protocols. */
function typeOf({ type }: JsonObject): string {
  return textOf(type).replaceAll("_", "").toLowerCase();
}

/** The files that an item changes, relative to the workspace if they are inside. */
function changesOf(item: JsonObject, workspace: string): { verb: string; path: string; diff: string }[] {
  return listOf(item["changes"]).map((change) => {
    const { path, kind, diff } = objectOf(change);
    const type = textOf(objectOf(kind)["type"]) || textOf(kind);
    const absolute = textOf(path);
    const inside = relative(workspace, absolute);
    const verb = type === "add" || type === "delete" ? type : "edit";
    return { verb, path: inside === "" || inside.startsWith("..") ? absolute : inside, diff: textOf(diff) };
  });
}

/** A command without the shell that codex wraps it in. A shell at another path can be any program: it is kept, so that no rule matches it. */
export function plainCommand(command: string): string {
  const inner = /^(?:\/usr)?\/bin\/(?:ba|z|)sh -l?c ([\s\S]+)$/.exec(command)?.[1];
  if (inner === undefined) return command;
  if (/^'[^']*'$/.test(inner)) return inner.slice(1, -1);
  if (/^"(?:[^"\\]|\\.)*"$/s.test(inner)) return inner.slice(1, -1).replace(/\\(["\\$`])/g, "$1");
  return inner.replaceAll(
    /'((?:[^'])*)'|"([^"]*)"/g,
    (_, single: string | undefined, double: string) => single ?? double,
  );
}

/** Drops answers in JSON, which are not for people. */
function withoutJson(text: string): string {
  return /^\s*(?:```\w*\s*)?\{/.test(text) ? "" : text;
}

/** A permission that codex asks for, and the reply to it. */
interface WantedPermission {
  readonly asked: AskedPermission;
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
