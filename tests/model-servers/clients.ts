import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** No real key: nothing but the model server sees it. */
const KEY = "dummy-key-of-a-test";

/**
 * What makes the programs talk to a model server: writes their configuration below `home`, and gives the variables. Run them with these
 * and `PATH` only, so that no key and no proxy of the machine gets in. `home` must not be below TMPDIR: codex refuses to sandbox there.
 */
export function clientEnvironment(url: string, home: string): Record<string, string> {
  mkdirSync(join(home, ".codex"), { recursive: true });
  writeFileSync(join(home, ".codex", "config.toml"), codexConfig(url));
  mkdirSync(join(home, ".gemini"), { recursive: true });
  writeFileSync(join(home, ".gemini", "settings.json"), JSON.stringify(GEMINI_SETTINGS));
  writeFileSync(join(home, "opencode.json"), JSON.stringify(opencodeConfig(url)));
  return { HOME: home, ...CLAUDE, ...codex(home), ...gemini(url), ...opencode(home), ANTHROPIC_BASE_URL: url };
}

const CLAUDE = {
  ANTHROPIC_API_KEY: KEY,
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_ERROR_REPORTING: "1",
  DISABLE_TELEMETRY: "1",
};

function codex(home: string): Record<string, string> {
  return { CODEX_HOME: join(home, ".codex"), CODEX_API_KEY: KEY };
}

function codexConfig(url: string): string {
  return `model = "gpt-5-codex"
model_provider = "stub"

[model_providers.stub]
name = "stub"
base_url = "${url}/v1"
wire_api = "responses"
env_key = "CODEX_API_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

# With these it asks github.com and chatgpt.com for plugins at each start.
[features]
plugins = false
apps = false
`;
}

const GEMINI_SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" } },
  privacy: { usageStatisticsEnabled: false },
  general: { enableAutoUpdate: false, maxAttempts: 2 },
};

function gemini(url: string): Record<string, string> {
  return { GEMINI_API_KEY: KEY, GOOGLE_GEMINI_BASE_URL: url };
}

function opencode(home: string): Record<string, string> {
  return {
    OPENCODE_CONFIG: join(home, "opencode.json"),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
  };
}

function opencodeConfig(url: string): object {
  const limit = { context: 100_000, output: 8000 };
  return {
    model: "stub/stub-model",
    small_model: "stub/stub-model",
    autoupdate: false,
    share: "disabled",
    provider: {
      stub: {
        npm: "@ai-sdk/openai-compatible",
        name: "stub",
        options: { baseURL: `${url}/v1`, apiKey: KEY },
        models: { "stub-model": { name: "Stub", limit, cost: { input: 1, output: 2, cache_read: 0.1 } } },
      },
    },
  };
}
