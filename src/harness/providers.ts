import { didYouMean } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";

/** Of each provider: the variables that may hold its key, a model for a start (names of models age), and its address. */
export const PROVIDERS = {
  anthropic: {
    keys: ["ANTHROPIC_API_KEY"],
    model: "claude-sonnet-4-20250514",
    baseURL: "https://api.anthropic.com/v1",
  },
  openai: { keys: ["OPENAI_API_KEY"], model: "gpt-4o", baseURL: "https://api.openai.com/v1" },
  xai: { keys: ["XAI_API_KEY"], model: "grok-latest", baseURL: "https://api.x.ai/v1" },
  gemini: {
    keys: ["GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    model: "gemini-flash-latest",
    baseURL: "https://generativelanguage.googleapis.com/v1beta",
  },
  /** Any server with OpenAI's Chat Completions. Its models have no common names. Without an address it is Ollama on this machine. */
  "openai-compatible": { keys: ["LLM_API_KEY", "OPENAI_API_KEY"], model: "", baseURL: "http://127.0.0.1:11434/v1" },
} as const;

export type ProviderName = keyof typeof PROVIDERS;

/** Where a model is, and how it is asked. */
export interface ModelAddress {
  readonly provider: ProviderName;
  readonly model: string;
  readonly apiKey?: string;
  /** The variable that has the key, for messages. */
  readonly keyVariable?: string;
  readonly baseURL?: string;
  /**
   * How the schema of an answer is told: to the server, which holds it; in the prompt, and the server holds to JSON; in the prompt alone. `schema` if
   * absent, but `json` for openai-compatible, where not every server knows schemas.
   */
  readonly structuredOutput?: "schema" | "json" | "none";
}

/** What is chosen for one participant, for example by its role. */
export type ModelChoice = Partial<Omit<ModelAddress, "provider" | "apiKey">> & { readonly provider?: string };

/**
 * An address by LLM_PROVIDER (anthropic if it is not set), LLM_MODEL, LLM_BASE_URL and the variable of the key, or what is wrong with them, without any value.
 * LLM_MODEL and LLM_BASE_URL belong to LLM_PROVIDER, and are not taken for another one that is chosen.
 */
export function addressFrom(
  environment: Readonly<Record<string, string | undefined>>,
  { provider: chosen, model, baseURL: chosenURL, keyVariable: chosenKey, structuredOutput }: ModelChoice = {},
): Result<ModelAddress, string> {
  const valueOf = (name: string) => environment[name]?.trim() || undefined;
  const usual = valueOf("LLM_PROVIDER") ?? "anthropic";
  const names = Object.keys(PROVIDERS) as ProviderName[];
  const provider = names.find((one) => one === (chosen ?? usual));
  if (provider === undefined)
    return err(`There is no such provider: name one of ${names.join(", ")}.${didYouMean(chosen ?? usual, names)}`);
  const own = PROVIDERS[provider];
  const usualOf = (name: string) => (provider === usual ? valueOf(name) : undefined);
  const named = model ?? usualOf("LLM_MODEL") ?? own.model;
  if (named === "") return err(`No model of ${provider} is named: set LLM_MODEL.`);
  const baseURL = baseURLOf(provider, chosenURL ?? usualOf("LLM_BASE_URL") ?? own.baseURL);
  if (!baseURL.ok) return baseURL;
  const variables = chosenKey ? [chosenKey] : own.keys.filter((name) => mayGetKey(provider, name, baseURL.value));
  const address = { provider, model: named, baseURL: baseURL.value, ...(structuredOutput && { structuredOutput }) };
  const keyVariable = variables.find((name) => valueOf(name));
  const apiKey = keyVariable && valueOf(keyVariable);
  if (!keyVariable || !apiKey) {
    if (provider === "openai-compatible" && !chosenKey) return ok(address);
    return err(`There is no key for ${provider}: set ${variables.join(" or ")}.`);
  }
  // As a header such a key fails with an error that prints it.
  if (!/^[\x21-\x7e]+$/.test(apiKey))
    return err(`The key in ${keyVariable} has a space, a line break or an odd character inside: copy it anew.`);
  return ok({ ...address, apiKey, keyVariable });
}

/** OpenAI's key goes to OpenAI and to servers on this machine, never to another party that speaks the same protocol. */
function mayGetKey(provider: ProviderName, variable: string, baseURL: string): boolean {
  if (provider !== "openai-compatible" || variable !== "OPENAI_API_KEY") return true;
  return /^(?:(?:.+\.)?openai\.com|localhost|127\.[\d.]+|\[::1\])$/.test(new URL(baseURL).hostname);
}

/** As the packages take it: with the version if there is no path, and without an endpoint. */
function baseURLOf(provider: ProviderName, given: string): Result<string, string> {
  const own = PROVIDERS[provider].baseURL;
  const url = URL.canParse(given) ? new URL(given) : undefined;
  // The address itself is not told: it may be a key in the wrong place.
  if (!url || !/^https?:$/.test(url.protocol) || url.username + url.password + url.search + url.hash !== "")
    return err(`The base URL of ${provider} must be an http address without user name and query, as ${own} is.`);
  const path = url.pathname.replace(/(?:\/(?:messages|responses|chat\/completions|models\/[^/]+:\w+))?\/*$/, "");
  return ok(url.origin + (path || new URL(own).pathname));
}
