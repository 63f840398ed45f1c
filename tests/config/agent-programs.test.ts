import { describe, expect, test } from "vitest";
import { AGENT_PROGRAMS } from "../../src/config/agent-programs.ts";
import { loginByFiles } from "../../src/config/program-files.ts";
import { completeRole } from "../../src/config/role-defaults.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { scratch } from "./scratch.ts";

const settings: ResolvedConfiguration = { ...CONFIGURATION_DEFAULTS, plan_approval: "ask", workspace: "/" };

function complete(cli_command: string[], more: Partial<Role> = {}) {
  return completeRole({ role_id: "a", type: "worker", cli_command, ...more }, settings, {});
}

describe("a role of an agent program", () => {
  test.each([
    [["codex", "cli"], ["codex"]],
    [
      ["/opt/bin/codex", "cli", "--search"],
      ["/opt/bin/codex", "--search"],
    ],
    [["claude", "code", "cli"], ["claude"]],
    [
      ["claude", "code", "cli", "--add-dir=x"],
      ["claude", "--add-dir=x"],
    ],
    [
      ["claude", "--model", "cli"],
      ["claude", "--model", "cli"],
    ],
    [
      ["sh", "cli"],
      ["sh", "cli"],
    ],
  ])("%j runs %j", (given, runs) => {
    expect(complete(given).cli_command).toEqual(runs);
  });

  test("sees the keys of its program, unless its registry says what it sees", () => {
    expect(complete(["claude"]).pass_env).toEqual(AGENT_PROGRAMS.claude.pass_env);
    expect(complete(["claude"], { pass_env: [] }).pass_env).toEqual([]);
    expect(complete(["sh"])).not.toHaveProperty("pass_env");
  });
});

describe("a login without a request", () => {
  const OWN =
    'model_provider = "own"\n[model_providers.other]\nenv_key = "NO"\n[model_providers.own]\nenv_key = "OWN_KEY"\n';
  test.each([
    ["claude", {}, {}, undefined],
    ["claude", {}, { ANTHROPIC_API_KEY: "k" }, "ANTHROPIC_API_KEY"],
    ["claude", { ".claude/.credentials.json": '{"claudeAiOauth":{}}' }, {}, "its login"],
    ["claude", { ".claude/settings.json": '{"apiKeyHelper":"x"}' }, {}, "apiKeyHelper"],
    ["codex", {}, {}, undefined],
    ["codex", { ".codex/auth.json": "{}" }, {}, "its login"],
    ["codex", {}, { CODEX_API_KEY: "k" }, "CODEX_API_KEY"],
    ["codex", { ".codex/config.toml": OWN }, { OWN_KEY: "k" }, "its provider own with OWN_KEY"],
    ["codex", { ".codex/config.toml": OWN, ".codex/auth.json": "{}" }, {}, "out"],
    ["opencode", {}, {}, "unknown"],
    ["opencode", { ".local/share/opencode/auth.json": '{"anthropic":{}}' }, {}, "its login"],
    ["opencode", { ".config/opencode/opencode.json": '{"provider":{}}' }, {}, "a provider of its configuration"],
    ["gemini", {}, {}, "out"],
    ["gemini", { ".gemini/oauth_creds.json": "{}" }, {}, "its login"],
    ["gemini", { ".gemini/settings.json": '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' }, {}, "unknown"],
    ["gemini", {}, { GEMINI_API_KEY: "k" }, "GEMINI_API_KEY"],
  ] as const)("of %s with the files %j and the variables %j is %s", (name, files, variables, expected) => {
    const place = scratch();
    for (const [file, content] of Object.entries(files)) place.write(file, content);
    const login = loginByFiles(name, { HOME: place.directory, ...variables });
    expect(login?.state === "in" ? login.by : login?.state).toBe(expected);
  });

  test("of codex follows the provider that its flags name", () => {
    const flags = ["-c", 'model_provider="x"', "-c", 'model_providers.x={name="x",env_key="X_KEY"}'];
    expect(loginByFiles("codex", { HOME: scratch().directory }, flags)).toMatchObject({ state: "out" });
    expect(loginByFiles("codex", { HOME: scratch().directory, X_KEY: "k" }, flags)).toMatchObject({ state: "in" });
  });
});
