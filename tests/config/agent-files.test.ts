import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  agentFindings,
  agentTemplates,
  type AgentFile,
  agentFilesIn,
  agentText,
  readAgentFile,
  roleOfAgent,
  writeAgentFile,
} from "../../src/config/agent-files.ts";
import { loadRoles } from "../../src/config/roles.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { failureOf, value } from "../results.ts";
import { ROOT } from "../sources.ts";
import { scratchDirectory } from "../agents/scratch.ts";

const ARCHITECT: AgentFile = { name: "architect", role: "资深软件架构师", system_prompt: "You judge how it scales." };

function folderOf(files: Readonly<Record<string, string>>): string {
  const folder = scratchDirectory();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

async function read(folder: string, name: string) {
  return readAgentFile(value(agentFilesIn(folder)).get(name) ?? []);
}

describe("an agent file", () => {
  it.each(["architect.json", "architect.yaml", "architect.yml"])("is read by its extension: %s", async (file) => {
    const text = await agentText(file, { ...ARCHITECT, temperature: 0.5 });
    expect(text.startsWith("{")).toBe(file.endsWith("json"));
    expect(value(await read(folderOf({ [file]: text }), "architect"))).toEqual({ ...ARCHITECT, temperature: 0.5 });
  });

  it("becomes a participant that a model plays, with its title as display name", async () => {
    const agent = {
      ...ARCHITECT,
      description: "Minds debt.",
      input_schema: "",
      output_schema: "Two points.",
      model: "m",
    };
    const folder = folderOf({ "architect.json": JSON.stringify(agent) });
    expect(roleOfAgent(value(await read(folder, "architect")))).toEqual({
      role_id: "architect",
      display_name: "资深软件架构师",
      type: "participant",
      backend: "model",
      system_prompt: "You judge how it scales.",
      output_schema: "Two points.",
      model: "m",
      metadata: { description: "Minds debt." },
    });
  });

  it("is a role that a registry takes", async () => {
    const role = roleOfAgent({
      ...ARCHITECT,
      provider: "openai-compatible",
      structured_output: "json",
      max_output_tokens: 9,
    });
    const file = join(folderOf({ "roles.json": JSON.stringify({ roles: [role] }) }), "roles.json");
    expect(value(await loadRoles([], [file]))).toEqual([role]);
  });

  it.each([...agentTemplates()])("the template %s is an agent", async (name, template) => {
    expect(await agentFindings({ name, ...template }, name)).toEqual([]);
    expect(template.description).toBeDefined();
  });

  it.each<[string, JsonObject, string]>([
    ["without a prompt", { system_prompt: undefined }, 'architect.json:1:1: "system_prompt" is missing'],
    ["with an empty title", { role: " " }, '"role" must have more than blanks'],
    ["with another name than its file", { name: "architekt" }, 'this file of the agent "architect" names "architekt"'],
    [
      "with a schema that is none",
      { output_schema: { type: "odd" } },
      '"output_schema" is no JSON Schema that can be enforced',
    ],
    ["with a schema in a text that is none", { input_schema: '{"$ref": "#"}' }, "$ref is not supported"],
    ["with a program", { cli_command: ["sh"] }, '"cli_command" is not a known key'],
    ["with an address", { base_url: "https://evil.example/v1" }, '"base_url" is not a known key'],
    ["with a tool that runs commands", { tools: ["run_command"] }, '"read_file"'],
    ["with a server of tools", { mcp_servers: {} }, '"mcp_servers" is not a known key'],
    ["with a variable", { env: { NODE_OPTIONS: "--require=./evil.js" } }, '"env" is not a known key'],
    [
      "with the name of another variable for its key",
      { api_key_env: "AWS_SECRET" },
      '"api_key_env" is not a known key',
    ],
  ])("%s is refused with its place", async (_what, change, said) => {
    const folder = folderOf({ "architect.json": JSON.stringify({ ...ARCHITECT, ...change }) });
    const { code, message } = failureOf(await read(folder, "architect"));
    expect(code).toBe("configuration");
    expect(message).toContain(said);
    expect(message).toMatch(/architect\.json:1:\d+: /);
  });

  it("is refused if it is there in two formats", async () => {
    const folder = folderOf({ "architect.json": JSON.stringify(ARCHITECT), "architect.yaml": "name: architect" });
    const { code, message } = failureOf(await read(folder, "architect"));
    expect(code).toBe("configuration");
    expect(message).toMatch(/in two files: .*architect\.json and .*architect\.yaml/);
  });

  it("may have the name of no sender of envelopes", async () => {
    const folder = folderOf({ "user.json": JSON.stringify({ ...ARCHITECT, name: "user" }) });
    expect(failureOf(await read(folder, "user")).message).toContain('"user" is no name of an agent');
  });

  it("is told by the names of a folder alone, whatever else is there", () => {
    const folder = folderOf({ "b.yml": "", "a.json": "{", ".hidden.json": "", "README.md": "" });
    mkdirSync(join(folder, "nested"));
    expect([...value(agentFilesIn(folder)).keys()]).toEqual(["a", "b"]);
    expect(value(agentFilesIn(join(folder, "none"))).size).toBe(0);
  });
});

describe("writing an agent file", () => {
  it("makes the folder, and leaves nothing beside it", () => {
    const file = join(scratchDirectory(), "crew", "architect.json");
    expect(writeAgentFile(file, "{}", false)).toEqual({ ok: true });
    expect(readdirSync(join(file, ".."))).toEqual(["architect.json"]);
  });

  it("never goes over one that is there, unless it replaces it, and then a link and not what it leads to", () => {
    const folder = folderOf({ "architect.json": "mine", "other.txt": "other" });
    const file = join(folder, "architect.json");
    expect(failureOf(writeAgentFile(file, "{}", false)).code).toBe("usage");
    expect(readFileSync(file, "utf8")).toBe("mine");
    const link = join(folder, "linked.json");
    symlinkSync(join(folder, "other.txt"), link);
    expect(failureOf(writeAgentFile(link, "{}", false)).code).toBe("usage");
    expect([writeAgentFile(file, "{}", true), writeAgentFile(link, "{}", true)]).toMatchObject([
      { ok: true },
      { ok: true },
    ]);
    expect(
      ["architect.json", "linked.json", "other.txt"].map((name) => readFileSync(join(folder, name), "utf8")),
    ).toEqual(["{}", "{}", "other"]);
    expect(readdirSync(folder)).toHaveLength(3);
  });

  it("fails with what to do where it cannot", () => {
    const folder = folderOf({ file: "" });
    const failed = failureOf(writeAgentFile(join(folder, "file", "architect.json"), "{}", false));
    expect(failed).toMatchObject({ code: "environment", message: expect.stringContaining("cannot be written") });
    expect(existsSync(join(folder, "file"))).toBe(true);
  });
});

it("the shipped example can be used", async () => {
  expect(value(await read(join(ROOT, "agents"), "example_architect"))).toMatchObject({
    role: "Senior software architect",
  });
});

it("a registry with a schema that cannot be enforced is refused with its place", async () => {
  const role = { role_id: "a", type: "worker", cli_command: ["a"], output_schema: '{"type": "odd"}' };
  const file = join(folderOf({ "roles.json": JSON.stringify({ roles: [role] }) }), "roles.json");
  expect(failureOf(await loadRoles([], [file])).message).toMatch(
    /roles\.json:1:\d+: "output_schema" is no JSON Schema/,
  );
});
