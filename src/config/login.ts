import { join } from "node:path";
import { textIn } from "../lib/files.ts";
import { objectOf } from "../lib/json.ts";
import { AGENT_PROGRAMS, type AgentProgram, type AgentProgramName } from "./agent-programs.ts";
import { baseDirectory, type Environment } from "./found.ts";
import { home, jsonIn, tableOf, tomlText } from "./program-files.ts";

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
  switch (name) {
    case "codex":
      return codexLogin(environment, parameters, key);
    case "opencode":
      return opencodeLogin(environment);
    case "gemini":
      return geminiLogin(environment);
    default:
      return claudeLogin(environment);
  }
}

function claudeLogin(environment: Environment): Login | undefined {
  const folder = environment.CLAUDE_CONFIG_DIR ?? home(environment, ".claude");
  const cloud = ["CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"];
  const used = cloud.find((variable) => isSet(environment[variable]));
  if (used !== undefined) return { state: "in", by: used };
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
  const cloud = ["GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_GCA"].find((name) => isSet(environment[name]));
  if (cloud !== undefined) return { state: "in", by: cloud };
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
