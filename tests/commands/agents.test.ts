import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { KEY, type Reply, type Wire, wire } from "../harness/providers/wire.ts";
import { typed } from "./in-process.ts";
import { type Rig, rig } from "./rig.ts";

const WRITTEN = {
  role: "Senior software architect",
  system_prompt: "You are a senior software architect.",
  input_schema: "",
  output_schema: "A judgement, and its reasons.",
};

const DESCRIPTION = "资深软件架构师，关注系统可扩展性和技术债务";
const BUILD = ["agents", "build", "--name", "architect", "--description", DESCRIPTION];

const says = (answer: unknown): Reply => ({
  said: { text: typeof answer === "string" ? answer : JSON.stringify(answer) },
});

/** The environment that leads to this server. */
function leadingTo({ url }: Wire): Record<string, string> {
  return { LLM_PROVIDER: "openai-compatible", LLM_MODEL: "small", LLM_BASE_URL: url, LLM_API_KEY: KEY };
}

function inFolder(here: Rig, agents: Readonly<Record<string, JsonObject | string>>, folder = "agents"): void {
  mkdirSync(join(here.workspace, folder), { recursive: true });
  for (const [name, agent] of Object.entries(agents))
    writeFileSync(join(here.workspace, folder, name), typeof agent === "string" ? agent : JSON.stringify(agent));
}

function fileOf(here: Rig, name = "architect.json"): string {
  return readFileSync(join(here.workspace, "agents", name), "utf8");
}

/** All texts of a request. */
function told({ asked }: Wire, index = -1): string {
  return JSON.stringify(asked.at(index)?.body["messages"]);
}

describe("bosun agents build", () => {
  it("has a model write the file from a description, in a process of its own", async () => {
    const here = rig();
    const server = await wire("openai-compatible", says(WRITTEN));
    const done = await here.run(BUILD, { env: leadingTo(server) });
    expect({ code: done.code, stderr: done.stderr }).toEqual({ code: 0, stderr: "" });
    expect(done.stdout).toContain("written agents/architect.json: Senior software architect");
    const { input_schema: _, ...kept } = WRITTEN;
    expect(JSON.parse(fileOf(here))).toEqual({ name: "architect", description: DESCRIPTION, ...kept });
    expect(told(server)).toContain(DESCRIPTION);
    expect(told(server)).toContain("the language of the description");
    expect(server.asked[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(`${done.stdout}${fileOf(here)}`).not.toContain(KEY);
  });

  it.each(["anthropic", "openai"] as const)("asks %s by its key, as the seed has it", async (provider) => {
    const here = rig();
    const server = await wire(provider, says(WRITTEN));
    const env = { LLM_PROVIDER: provider, LLM_BASE_URL: server.url, [`${provider.toUpperCase()}_API_KEY`]: KEY };
    expect((await typed(here, BUILD, env)).code).toBe(0);
    expect(server.asked[0]?.body["model"]).toBe(provider === "anthropic" ? "claude-sonnet-4-20250514" : "gpt-4o");
  });

  it("writes YAML, into another folder, and says as JSON what it wrote", async () => {
    const here = rig();
    const server = await wire("openai-compatible", says(WRITTEN));
    const words = [...BUILD, "--format", "yaml", "--output-dir", "crew", "--json"];
    const { code, stdout } = await typed(here, words, leadingTo(server));
    expect([code, JSON.parse(stdout)]).toMatchObject([
      0,
      { file: "crew/architect.yaml", agent: { name: "architect" } },
    ]);
    const text = readFileSync(join(here.workspace, "crew", "architect.yaml"), "utf8");
    expect(text).toContain(`description: ${DESCRIPTION}\n`);
    expect((await typed(here, ["agents", "show", "architect", "--agents-dir", "crew"])).code).toBe(0);
  });

  it("feeds what is wrong with an answer back, twice at most", async () => {
    const here = rig();
    const fenced = `Here it is:\n\`\`\`json\n${JSON.stringify(WRITTEN)}\n\`\`\``;
    const server = await wire("openai-compatible", says("I cannot."), says({ ...WRITTEN, role: "" }), says(fenced));
    expect((await typed(here, BUILD, leadingTo(server))).code).toBe(0);
    expect(server.asked).toHaveLength(3);
    expect(told(server, 1)).toContain("there is no JSON object in it");
    expect(told(server, 2)).toContain(String.raw`\"role\" must have more than blanks`);
    expect(JSON.parse(fileOf(here))).toMatchObject({ role: WRITTEN.role });
  });

  it.each<[string, Reply, string]>([
    ["an answer that is never an agent", says("{}"), '"role" is missing'],
    ["an answer that was cut", { said: { text: JSON.stringify(WRITTEN), stop: "length" } }, "limit of output tokens"],
    ["a provider that fails", { status: 500, message: "out of order" }, "out of order"],
    ["a wrong key", { status: 401, message: "bad key" }, "HTTP 401"],
    ["a stream that breaks", { said: { text: JSON.stringify(WRITTEN) }, end: "closed" }, ""],
  ])("ends with 1 after %s, and writes nothing", async (_what, reply, said) => {
    const here = rig();
    const server = await wire("openai-compatible", reply);
    const ended = await typed(here, BUILD, leadingTo(server));
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(said) });
    expect(ended.stderr).toContain("Error: ");
    expect(existsSync(join(here.workspace, "agents"))).toBe(false);
  });

  it("ends with 3 and the name of the variable if there is no key, before anything is begun", async () => {
    const here = rig();
    expect(await typed(here, BUILD)).toMatchObject({ code: 3, stderr: expect.stringContaining("ANTHROPIC_API_KEY") });
    const json = await typed(here, [...BUILD, "--json"], { LLM_PROVIDER: "openai" });
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([3, { type: "error", exit_code: 3 }]);
    expect(json.stdout).toContain("OPENAI_API_KEY");
    expect(readdirSync(here.workspace)).toEqual([]);
  });

  it("refuses to replace a file without --force, before a model is asked", async () => {
    const here = rig();
    inFolder(here, { "architect.json": "mine", "analyst.yaml": "mine" });
    const server = await wire("openai-compatible", says(WRITTEN));
    const env = leadingTo(server);
    const refused = await typed(here, BUILD, env);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("--force") });
    const other = await typed(here, BUILD.with(3, "analyst"), env);
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("analyst.yaml already") });
    expect([server.asked, fileOf(here)]).toEqual([[], "mine"]);
    expect((await typed(here, [...BUILD, "--force"], env)).code).toBe(0);
    expect(JSON.parse(fileOf(here))).toMatchObject({ name: "architect" });
  });

  it.each([
    ["a name with a path", ["--name", "../architect"], "--name"],
    ["a name that no role may have", ["--name", "user"], '"user" is no name of an agent'],
    ["an empty description", ["--description", " "], "from a description or from a template"],
    ["a template and a description", ["--from-template", "writer"], "from a description or from a template"],
    ["an unknown format", ["--format", "toml"], "json, yaml"],
  ])("is refused with %s", async (_what, words, said) => {
    const here = rig();
    expect(await typed(here, [...BUILD, ...words])).toMatchObject({ code: 2, stderr: expect.stringContaining(said) });
    expect(readdirSync(here.workspace)).toEqual([]);
  });
});

it("agents build copies a template without a model, under its name or another", async () => {
  const here = rig();
  expect((await typed(here, ["agents", "build", "--from-template", "researcher"])).code).toBe(0);
  expect((await typed(here, ["agents", "build", "--from-template", "coder", "--name", "ann"])).code).toBe(0);
  const agents = JSON.parse((await typed(here, ["agents", "list", "--json"])).stdout) as { agents: JsonObject[] };
  expect(agents.agents).toMatchObject([
    { name: "ann", role: "Software developer" },
    { name: "researcher", role: "Researcher" },
  ]);
  expect(JSON.parse(fileOf(here, "ann.json"))).toMatchObject({ tools: ["read_file", "list_files", "search"] });
});

const ARCHITECT = { name: "architect", role: "Software architect", system_prompt: "You judge how it scales." };

describe("the other commands of agents", () => {
  it("list all, also those that cannot be used", async () => {
    const here = rig();
    expect((await typed(here, ["agents", "list"])).stdout).toContain("There are no agents yet.");
    inFolder(here, { "architect.json": ARCHITECT, "broken.yaml": "role: [" });
    const { code, stdout } = await typed(here, ["agents", "list"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/architect +Software architect +agents\/architect\.json/);
    expect(stdout).toMatch(/broken +\(cannot be used\) +agents\/broken\.yaml/);
    const listed = JSON.parse((await typed(here, ["agents", "list", "--json"])).stdout) as JsonObject;
    expect(listed).toMatchObject({
      agents: [{ name: "architect", role: "Software architect" }, { problem: expect.any(String) }],
    });
  });

  it("show one as its file says it", async () => {
    const here = rig();
    inFolder(here, { "architect.json": { ...ARCHITECT, output_schema: { type: "object" } } });
    const { stdout } = await typed(here, ["agents", "show", "architect"]);
    expect(stdout).toBe(
      'name: architect\nrole: Software architect\noutput_schema: {"type":"object"}\n\nYou judge how it scales.\n',
    );
    expect(JSON.parse((await typed(here, ["agents", "show", "architect", "--json"])).stdout)).toMatchObject(ARCHITECT);
  });

  it("say which there are if one is missing", async () => {
    const here = rig();
    inFolder(here, { "architect.json": ARCHITECT, "devops.yaml": "" });
    for (const words of [
      ["show", "architekt"],
      ["validate", "architekt"],
      ["try", "architekt", "Why?"],
    ]) {
      const { code, stderr } = await typed(here, ["agents", ...words]);
      expect([words, code]).toEqual([words, 2]);
      expect(stderr).toContain('There is no agent "architekt". Did you mean architect?');
      expect(stderr).toContain("In agents/ there are architect, devops.");
      expect(stderr).toContain('bosun agents build --name architekt --description "…"');
    }
    expect((await typed(here, ["agents", "list", "--agents-dir", "none"])).stderr).toContain("is no folder");
  });

  it("validate with every problem and its place", async () => {
    const here = rig();
    inFolder(here, {
      "architect.json": ARCHITECT,
      "broken.json": { ...ARCHITECT, name: "broken", cli_command: [], base_url: 1 },
    });
    expect((await typed(here, ["agents", "validate", "architect"])).code).toBe(0);
    const { code, stdout } = await typed(here, ["agents", "validate"]);
    expect(code).toBe(3);
    expect(stdout).toContain("ok    architect: agents/architect.json");
    expect(stdout).toMatch(/broken\.json:1:\d+: "cli_command" is not a known key/);
    expect(stdout).toMatch(/broken\.json:1:\d+: "base_url" is not a known key/);
    const { stdout: json } = await typed(here, ["agents", "validate", "--json"]);
    expect(JSON.parse(json)).toMatchObject({
      ok: false,
      agents: [{ ok: true }, { ok: false, problems: [{ line: 1 }, {}] }],
    });
  });

  it("try one: its answer is shown line by line as it comes", async () => {
    const here = rig();
    inFolder(here, { "architect.json": { ...ARCHITECT, output_schema: "Two lines.", temperature: 0.2 } });
    const server = await wire("openai-compatible", says("It scales.\nIt is dear."));
    const { code, stdout } = await typed(here, ["agents", "try", "architect", "Move it?"], leadingTo(server));
    expect([code, stdout]).toEqual([0, "It scales.\nIt is dear.\n"]);
    expect(server.asked[0]?.body).toMatchObject({ model: "small", temperature: 0.2, stream: true });
    expect(told(server)).toContain("You judge how it scales.");
    expect(told(server)).toContain("Two lines.");
    const json = await typed(here, ["agents", "try", "architect", "Move it?", "--json"], leadingTo(server));
    expect(JSON.parse(json.stdout)).toMatchObject({
      name: "architect",
      model: "small",
      text: "It scales.\nIt is dear.",
      usage: { outputTokens: expect.any(Number) },
    });
  });

  it("try one by the model that it names, and end with 1 if its answer does not fit its schema", async () => {
    const here = rig();
    inFolder(here, { "architect.json": { ...ARCHITECT, model: "large", output_schema: '{"type": "object"}' } });
    const server = await wire("openai-compatible", says("It scales."), says("{}"));
    const unfit = await typed(here, ["agents", "try", "architect", "Move it?"], leadingTo(server));
    expect(unfit).toMatchObject({ code: 1, stdout: "It scales.\n", stderr: expect.stringContaining("it is not JSON") });
    expect((await typed(here, ["agents", "try", "architect", "Move it?"], leadingTo(server))).code).toBe(0);
    expect(server.asked[0]?.body["model"]).toBe("large");
  });

  it("try one without a key, or with a provider that fails", async () => {
    const here = rig();
    inFolder(here, { "architect.json": { ...ARCHITECT, provider: "xai" } });
    const words = ["agents", "try", "architect", "Move it?"];
    expect(await typed(here, words)).toMatchObject({ code: 3, stderr: expect.stringContaining("XAI_API_KEY") });
    inFolder(here, { "architect.json": ARCHITECT });
    const server = await wire("openai-compatible", { status: 429, message: "slow down" });
    const failed = await typed(here, [...words, "--json"], leadingTo(server));
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("slow down") });
    expect(JSON.parse(failed.stdout)).toMatchObject({ type: "error", exit_code: 1 });
  });
});
