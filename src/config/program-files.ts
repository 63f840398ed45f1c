import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, sep } from "node:path";
import { realPath, textIn } from "../lib/files.ts";
import { repositoryRoot } from "../lib/git-directories.ts";
import { type JsonObject, objectOf, parsedObject } from "../lib/json.ts";
import { AGENT_PROGRAMS, type AgentProgram, type AgentProgramName } from "./agent-programs.ts";
import { baseDirectory, type Environment } from "./found.ts";

// What agent programs' own files say of their login, and of their trust in a workspace.

/** Whether an agent program is logged in, as far as it shows without a request to a model. */
export type Login =
  | { readonly state: "in"; readonly by: string }
  | { readonly state: "out" | "unknown"; readonly why: string; readonly remedy?: string };

/**
 * Finds a program's login in its environment, the arguments of its command and its files. Undefined if only the program itself can tell
 * (`login_status`), for example with a keychain.
 */
export function loginByFiles(
  name: AgentProgramName,
  environment: Environment,
  parameters: readonly string[] = [],
): Login | undefined {
  const { keys }: AgentProgram = AGENT_PROGRAMS[name];
  const key = keys.find((variable) => isSet(environment[variable]));
  if (key !== undefined && name !== "codex") return { state: "in", by: key };
  if (name === "codex") return codexLogin(environment, parameters, key);
  if (name === "opencode") return opencodeLogin(environment);
  return name === "gemini" ? geminiLogin(environment) : claudeLogin(environment);
}

function claudeLogin(environment: Environment): Login | undefined {
  const folder = environment.CLAUDE_CONFIG_DIR ?? home(environment, ".claude");
  if (jsonIn(join(folder, ".credentials.json"))?.claudeAiOauth !== undefined) return { state: "in", by: "its login" };
  if (jsonIn(join(folder, "settings.json"))?.apiKeyHelper !== undefined) return { state: "in", by: "apiKeyHelper" };
  return undefined;
}

/** A custom provider needs no login at OpenAI; its key is in the variable that `env_key` names. */
function codexLogin(
  environment: Environment,
  parameters: readonly string[],
  key: string | undefined,
): Login | undefined {
  if (parameters.some((word) => ["--oss", "-p", "--profile"].includes(word.split("=", 1)[0] ?? ""))) {
    return { state: "unknown", why: "its flags choose the provider" };
  }
  const folder = environment.CODEX_HOME ?? home(environment, ".codex");
  const text = textIn(join(folder, "config.toml")) ?? "";
  const flags = parameters.filter((_, index) => parameters[index - 1] === "-c" || parameters[index - 1] === "--config");
  const given = [...flags, text.split(/^\s*\[/m, 1)[0] ?? ""].join("\n");
  const provider = tomlText(given, "model_provider");
  if (provider === undefined || provider === "openai") {
    if (key !== undefined) return { state: "in", by: key };
    return jsonIn(join(folder, "auth.json")) ? { state: "in", by: "its login" } : undefined;
  }
  const table = `${tableOf(text, `model_providers.${provider}`)}\n${flags.join("\n")}`;
  const variable = tomlText(table, "env_key");
  if (variable === undefined || isSet(environment[variable])) {
    return { state: "in", by: `its provider ${provider}${variable === undefined ? "" : ` with ${variable}`}` };
  }
  const remedy = `Set ${variable}, and write pass_env: [${variable}] into its role`;
  return { state: "out", why: `its provider ${provider} needs ${variable}, which its role does not see`, remedy };
}

function opencodeLogin(environment: Environment): Login {
  const data = join(baseDirectory(environment, "XDG_DATA_HOME", join(".local", "share")), "opencode", "auth.json");
  if (Object.keys(jsonIn(data) ?? {}).length > 0) return { state: "in", by: "its login" };
  const folder = join(baseDirectory(environment, "XDG_CONFIG_HOME", ".config"), "opencode");
  const files = [environment.OPENCODE_CONFIG, ...["opencode.json", "opencode.jsonc"].map((file) => join(folder, file))];
  const configured = [environment.OPENCODE_CONFIG_CONTENT, ...files.map((file) => file && textIn(file))];
  if (configured.some((text) => text?.includes('"provider"')))
    return { state: "in", by: "a provider of its configuration" };
  return { state: "unknown", why: "no login and no provider found; only models without a key can answer" };
}

function geminiLogin(environment: Environment): Login {
  const folder = join(environment.GEMINI_CLI_HOME ?? home(environment), ".gemini");
  if (jsonIn(join(folder, "oauth_creds.json"))) return { state: "in", by: "its login" };
  if (/^\s*(?:export\s+)?G(?:EMINI|OOGLE)_API_KEY=./m.test(textIn(join(folder, ".env")) ?? "")) {
    return { state: "in", by: `the key in ${join(folder, ".env")}` };
  }
  const { selectedType } = objectOf(objectOf(jsonIn(join(folder, "settings.json"))?.security).auth);
  if (selectedType === undefined) return { state: "out", why: "it has no key and no login" };
  return { state: "unknown", why: `it is set to ${JSON.stringify(selectedType)}, whose key may be in a keychain` };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== "";
}

/** Whether an agent program trusts a workspace (`ok`), and what that means for its turns. */
export interface ProgramTrust {
  readonly state: "ok" | "poor";
  readonly what: string;
  /** How to trust it; only where that makes a difference. */
  readonly hint?: string;
}

/** Finds a program's trust in a workspace from its files, without starting it. Undefined for programs that do not ask about it in a turn. */
export function trustByFiles(
  name: AgentProgramName,
  environment: Environment,
  workspace: string,
): ProgramTrust | undefined {
  const place = realPath(workspace);
  if (name === "codex") return codexTrust(environment, place);
  return name === "gemini" ? geminiTrust(environment, place) : undefined;
}

/** Codex works in any folder; only the configuration in the folder depends on trust. */
function codexTrust(environment: Environment, workspace: string): ProgramTrust | undefined {
  const root = repositoryRoot(workspace) ?? workspace;
  const place = [workspace, root].find((folder) => existsSync(join(folder, ".codex", "config.toml")));
  if (place === undefined) return undefined;
  const own = join(place, ".codex", "config.toml");
  const text = textIn(join(environment.CODEX_HOME ?? home(environment, ".codex"), "config.toml")) ?? "";
  const levels = [place, root].map((folder) => tomlText(tableOf(text, `projects.${folder}`), "trust_level"));
  if (levels.find((level) => level !== undefined) === "trusted") {
    return { state: "ok", what: `codex trusts ${workspace}: ${own} counts, and its MCP servers run` };
  }
  const what = `codex does not trust ${workspace}: it works there, without what ${own} says`;
  return { state: "poor", what, hint: "To use that file, start codex there once and trust the folder." };
}

/** Gemini asks for each change in a folder that it does not trust, and Bosun answers. */
function geminiTrust(environment: Environment, workspace: string): ProgramTrust {
  const folder = join(environment.GEMINI_CLI_HOME ?? home(environment), ".gemini");
  const isOn = objectOf(objectOf(jsonIn(join(folder, "settings.json"))?.security).folderTrust).enabled !== false;
  const file = environment.GEMINI_CLI_TRUSTED_FOLDERS_PATH ?? join(folder, "trustedFolders.json");
  if (!isOn || isTrusted(Object.entries(jsonIn(file) ?? {}), workspace)) {
    return { state: "ok", what: `gemini trusts ${workspace}: the hooks and agents there count` };
  }
  return {
    state: "poor",
    what: `gemini does not trust ${workspace}: it works there and asks for each change, which the role's permissions answer; hooks and agents there stay off`,
    hint: "To have those, start gemini there once and trust the folder.",
  };
}

/** The rule with the longest path that contains the workspace counts. */
function isTrusted(rules: readonly (readonly [path: string, level: unknown])[], workspace: string): boolean {
  const holding = rules.filter(([path, level]) => {
    const folder = level === "TRUST_PARENT" ? dirname(path) : path;
    return workspace === folder || workspace.startsWith(folder.endsWith(sep) ? folder : folder + sep);
  });
  const [longest] = holding.toSorted(([one], [other]) => other.length - one.length);
  return longest?.[1] === "TRUST_FOLDER" || longest?.[1] === "TRUST_PARENT";
}

/** A path below the home directory of the environment. */
function home(environment: Environment, ...segments: string[]): string {
  return join(environment.HOME !== undefined && isAbsolute(environment.HOME) ? environment.HOME : "/", ...segments);
}

/** The value of a key in lines of TOML: `key = "value"`, also within an inline table. */
function tomlText(text: string, key: string): string | undefined {
  return new RegExp(`(?:^|[{,\\s.])${key}\\s*=\\s*["']?([^"',}\\s]+)`, "m").exec(text)?.[1];
}

function tableOf(text: string, name: string): string {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.trim().replaceAll(/["']/g, "") === `[${name}]`);
  if (start === -1) return "";
  const end = lines.findIndex((line, index) => index > start && line.trim().startsWith("["));
  return lines.slice(start + 1, end === -1 ? undefined : end).join("\n");
}

/** The object in a JSON file; undefined without one. */
function jsonIn(file: string): JsonObject | undefined {
  return parsedObject(textIn(file) ?? "");
}
