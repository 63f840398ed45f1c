import { expect, it } from "vitest";
import { addressFrom, type ModelChoice, type ProviderName } from "../../../src/harness/providers.ts";
import { ALL } from "./wire.ts";

type Environment = Readonly<Record<string, string>>;

const KEYS = { ANTHROPIC_API_KEY: "a-key", OPENAI_API_KEY: "o-key", XAI_API_KEY: "x-key", GEMINI_API_KEY: "g-key" };

function address(environment: Environment, choice?: ModelChoice) {
  const found = addressFrom(environment, choice);
  return found.ok ? found.value : found.error;
}

it.each<[string, Environment, object]>([
  [
    "Anthropic with its key, if nothing is said",
    KEYS,
    {
      provider: "anthropic",
      model: "claude-sonnet-4-20250514",
      baseURL: "https://api.anthropic.com/v1",
      apiKey: "a-key",
    },
  ],
  [
    "the provider that is named",
    { ...KEYS, LLM_PROVIDER: "openai" },
    { provider: "openai", model: "gpt-4o", apiKey: "o-key" },
  ],
  ["the model that is named", { ...KEYS, LLM_MODEL: " claude-next " }, { model: "claude-next" }],
  [
    "a key without the spaces and the line break around it",
    { LLM_PROVIDER: "gemini", GOOGLE_GENERATIVE_AI_API_KEY: " g2\n", GEMINI_API_KEY: " " },
    { apiKey: "g2", keyVariable: "GOOGLE_GENERATIVE_AI_API_KEY" },
  ],
  [
    "a server on this machine without a key",
    { LLM_PROVIDER: "openai-compatible", LLM_MODEL: "qwen" },
    { provider: "openai-compatible", model: "qwen", baseURL: "http://127.0.0.1:11434/v1" },
  ],
])("the environment gives %s", (_, environment, expected) => {
  expect(address(environment)).toMatchObject(expected);
});

it.each<[string, string | undefined]>([
  ["http://localhost:8000/v1", "o-key"],
  ["http://127.0.0.1:8000/v1", "o-key"],
  ["http://[::1]:8000/v1", "o-key"],
  ["https://api.openai.com/v1", "o-key"],
  ["https://eu.api.openai.com/v1", "o-key"],
  ["https://api.groq.com/openai/v1", undefined],
  ["https://openai.com.example.org/v1", undefined],
  ["https://notopenai.com/v1", undefined],
  ["https://localhost.example.org/v1", undefined],
  ["http://192.168.1.5:11434/v1", undefined],
])("OPENAI_API_KEY for an openai-compatible server at %s: %s", (LLM_BASE_URL, key) => {
  const environment = { ...KEYS, LLM_PROVIDER: "openai-compatible", LLM_MODEL: "m", LLM_BASE_URL };
  expect(address(environment)).toHaveProperty("provider", "openai-compatible");
  expect(address(environment)).toMatchObject(key === undefined ? {} : { apiKey: key });
  expect(Object.hasOwn(address(environment) as object, "apiKey")).toBe(key !== undefined);
  expect(address({ ...environment, LLM_API_KEY: "l-key" })).toMatchObject({
    apiKey: "l-key",
    keyVariable: "LLM_API_KEY",
  });
});

it("a participant's choice wins, and what belongs to another provider is not taken", () => {
  const environment = {
    ...KEYS,
    LLM_PROVIDER: "openai",
    LLM_MODEL: "gpt-x",
    LLM_BASE_URL: "http://127.0.0.1:1/v1",
    TEAM: "t-key",
  };
  expect(address(environment, { provider: "xai" })).toEqual({
    provider: "xai",
    model: "grok-latest",
    baseURL: "https://api.x.ai/v1",
    apiKey: "x-key",
    keyVariable: "XAI_API_KEY",
  });
  const choice = {
    model: "gpt-y",
    baseURL: "https://gate.example.org/openai/",
    keyVariable: "TEAM",
    structuredOutput: "none",
  } as const;
  expect(address(environment, choice)).toEqual({
    ...choice,
    provider: "openai",
    baseURL: "https://gate.example.org/openai",
    apiKey: "t-key",
  });
});

it.each<[ProviderName, string, string]>([
  ["anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1"],
  ["anthropic", "https://api.anthropic.com/v1/messages", "https://api.anthropic.com/v1"],
  ["openai", "http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1"],
  ["openai", "https://gate.example.org/v1/responses/", "https://gate.example.org/v1"],
  ["xai", "https://api.x.ai/v1///", "https://api.x.ai/v1"],
  ["gemini", "https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta"],
  ["gemini", "http://127.0.0.1:1/v1beta/models/g-1:generateContent", "http://127.0.0.1:1/v1beta"],
  ["openai-compatible", "http://127.0.0.1:11434/v1/chat/completions", "http://127.0.0.1:11434/v1"],
  ["openai-compatible", "https://gate.example.org/api/openai", "https://gate.example.org/api/openai"],
])("%s at %s is asked below %s", (provider, baseURL, expected) => {
  expect(address(KEYS, { provider, model: "m", baseURL })).toMatchObject({ baseURL: expected });
});

it.each([
  "localhost:11434",
  "ftp://host/v1",
  "not a url",
  "https://me:word@host/v1",
  "https://host/v1?key=secret",
  "sk-secret-1234",
])("the base URL %s is refused, and not repeated", (LLM_BASE_URL) => {
  const told = address({ ...KEYS, LLM_BASE_URL });
  expect(told).toMatch(/^The base URL of anthropic must be an http address .*https:\/\/api\.anthropic\.com\/v1/);
  expect(told).not.toContain(LLM_BASE_URL);
});

it.each(["two words", "line\nbreak", "wide\u00a0space", "кey"])("the key %j is refused without being told", (key) => {
  const told = address({ ANTHROPIC_API_KEY: key });
  expect(told).toContain("The key in ANTHROPIC_API_KEY");
  expect(told).not.toContain(key);
});

it("says which variable is missing, and which providers there are", () => {
  const told = ALL.map((provider) => address({}, { provider }));
  expect(told).toEqual([
    "There is no key for anthropic: set ANTHROPIC_API_KEY.",
    "There is no key for openai: set OPENAI_API_KEY.",
    "There is no key for xai: set XAI_API_KEY.",
    "There is no key for gemini: set GEMINI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY.",
    "No model of openai-compatible is named: set LLM_MODEL.",
  ]);
  expect(address({}, { keyVariable: "TEAM_KEY" })).toBe("There is no key for anthropic: set TEAM_KEY.");
  expect(address({ LLM_PROVIDER: "antropic" })).toMatch(/name one of .*openai-compatible\. Did you mean anthropic\?$/);
});
