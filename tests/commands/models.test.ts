import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { KEY, type Reply, wire } from "../harness/providers/wire.ts";
import type { ProviderName } from "../../src/harness/providers.ts";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";

interface Told {
  readonly models: readonly { readonly provider: ProviderName; readonly state: string }[];
}

async function shown(args: readonly string[], env: Record<string, string>) {
  const { code, stdout, stderr } = await typed(rig(), ["models", ...args], env);
  expect(stderr).toBe("");
  // Not the value of any key.
  expect(stdout).not.toContain(KEY);
  return { code, stdout };
}

async function told(args: readonly string[], env: Record<string, string>) {
  const { code, stdout } = await shown([...args, "--json"], env);
  const { models } = JSON.parse(stdout) as Told;
  return { code, of: (name: ProviderName) => models.find(({ provider }) => provider === name) };
}

const VARIABLES = {
  anthropic: "ANTHROPIC_API_KEY",
  openai: "OPENAI_API_KEY",
  xai: "XAI_API_KEY",
  gemini: "GEMINI_API_KEY",
  "openai-compatible": "LLM_API_KEY",
} as const;

const ALL = Object.entries(VARIABLES) as [ProviderName, string][];

/** A server of one provider, and the environment that has only this provider. */
async function configured(provider: ProviderName, variable: string, reply: Reply) {
  const { url: LLM_BASE_URL, asked } = await wire(provider, reply);
  return { asked, env: { LLM_PROVIDER: provider, LLM_MODEL: "m-1", LLM_BASE_URL, [variable]: KEY } };
}

/** Lets a process write the address of each file that it loads as a module. */
const TELLING_FILES = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from "node:fs";
  import { registerHooks } from "node:module";
  registerHooks({ load: (url, context, next) => (writeSync(2, "loaded " + url + "\\n"), next(url, context)) });
`)}`;

describe("bosun models", () => {
  it("names the variable of each key, the model and the address, or what is missing", async () => {
    const env = { ANTHROPIC_API_KEY: KEY, GOOGLE_GENERATIVE_AI_API_KEY: KEY, LLM_MODEL: "claude-next" };
    const { code, of } = await told([], env);
    expect(code).toBe(0);
    expect(of("anthropic")).toEqual({
      provider: "anthropic",
      state: "configured",
      model: "claude-next",
      base_url: "https://api.anthropic.com/v1",
      key: "ANTHROPIC_API_KEY",
    });
    expect(of("gemini")).toMatchObject({ model: "gemini-flash-latest", key: "GOOGLE_GENERATIVE_AI_API_KEY" });
    expect(of("openai")).toEqual({
      provider: "openai",
      state: "missing",
      why: "There is no key for openai: set OPENAI_API_KEY.",
    });
    const { stdout } = await shown([], env);
    expect(stdout).toMatch(
      /^anthropic +claude-next +https:\/\/api\.anthropic\.com\/v1 +ANTHROPIC_API_KEY +configured$/m,
    );
    expect(stdout).toMatch(/^openai +- +- +- +There is no key/m);
  });

  it("names LLM_PROVIDER if there is no such provider", async () => {
    expect((await shown([], { LLM_PROVIDER: "antropic" })).stdout).toMatch(/^antropic .*Did you mean anthropic\?$/m);
  });

  it.each(ALL)("--try asks %s once, and says how long it took and what it used", async (provider, variable) => {
    const { asked, env } = await configured(provider, variable, { said: { text: "yes" } });
    const { code, of } = await told(["--try"], env);
    expect([code, of(provider)]).toMatchObject([0, { state: "answered", tokens: 17, model: "m-1", key: variable }]);
    expect(asked).toHaveLength(1);
    expect((await shown(["--try"], env)).stdout).toMatch(/ answered in \d+\.\d s, 17 tokens$/m);
  });

  it.each(ALL)("--try says why %s does not answer, and exits with 3", async (provider, variable) => {
    const { env } = await configured(provider, variable, { status: 401, message: `The key ${KEY} is wrong.` });
    const { code, of } = await told(["--try"], env);
    const why = expect.stringMatching(
      new RegExp(`^${provider} \\(m-1 at http://.*is wrong\\. \\(HTTP 401\\)$`),
    ) as string;
    expect([code, of(provider)]).toMatchObject([3, { state: "failed", why }]);
    expect((await shown(["--try"], env)).stdout).toContain("is wrong. (HTTP 401)");
  });

  it("is the only command that loads a provider's package, and only when it asks", async () => {
    const here = rig();
    const { env } = await configured("openai-compatible", "LLM_API_KEY", { said: { text: "yes" } });
    const loads = async (...args: string[]) => {
      const { stderr } = await here.run(args, { env: { ...env, NODE_OPTIONS: `--import=${TELLING_FILES}` } });
      const files = [...stderr.matchAll(/^loaded (file:.*)$/gm)].map(([, url = ""]) =>
        readFileSync(new URL(url), "utf8"),
      );
      expect(files.length).toBeGreaterThan(0);
      // The mark of all errors of these packages.
      return files.filter((text) => text.includes("vercel.ai.error")).length;
    };
    for (const args of [["--version"], ["status"], ["doctor"], ["roles"], ["models"]])
      expect([args, await loads(...args)]).toEqual([args, 0]);
    expect(await loads("models", "--try")).toBeGreaterThan(0);
  });
});
