// Three agents argue a decision under a PM: a model writes them from a description each, they meet, and the report is in Markdown.
//   node examples/meeting/run.mjs [directory]
// With a key in the environment (`bosun models` lists which) it asks that model, about ten times; without one a scripted model answers, on this machine.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Worker } from "node:worker_threads";

const AGENTS = {
  architect: "资深软件架构师，关注系统可扩展性和技术债务",
  business_analyst: "商业分析师，关注 ROI 和市场可行性",
  devops: "DevOps 工程师，关注部署复杂度和运维成本",
};
const TOPIC = "评估从 PostgreSQL 迁移到 MongoDB 的方案";

const bosun = process.env.BOSUN_PROGRAM ?? resolve(import.meta.dirname, "../../dist/bin.js");
const directory = process.argv[2] ?? mkdtempSync(join(tmpdir(), "bosun-meeting-"));
mkdirSync(directory, { recursive: true });

/** The environment of a scripted model, if nothing says which model to ask. */
async function scripted() {
  const isNamed = Object.keys(process.env).some((name) => /^(?:LLM_|(?:ANTHROPIC|OPENAI|XAI|GEMINI)_API_KEY$)/.test(name));
  if (isNamed) return {};
  console.log("No key is set, so a scripted model answers. Set ANTHROPIC_API_KEY to ask a real one.\n");
  // A thread of its own: this one waits for the commands.
  const worker = new Worker(new URL("scripted-model.mjs", import.meta.url));
  worker.unref();
  const port = await new Promise((told) => worker.once("message", told));
  return { LLM_PROVIDER: "openai-compatible", LLM_MODEL: "scripted", LLM_BASE_URL: `http://127.0.0.1:${port}/v1` };
}

const env = { ...process.env, ...(await scripted()) };

function run(...words) {
  console.log(`$ bosun ${words.map((word) => (/^[\w./=,-]+$/.test(word) ? word : `"${word}"`)).join(" ")}`);
  const { status } = spawnSync(process.execPath, [bosun, ...words], { cwd: directory, env, stdio: "inherit" });
  console.log();
  if (status !== 0) process.exit(status ?? 70);
}

console.log(`In ${directory}\n`);
for (const [name, description] of Object.entries(AGENTS)) run("agents", "build", "--force", "--name", name, "--description", description);
run("meeting", "run", "--topic", TOPIC, "--agents", Object.keys(AGENTS).join(","), "--yes", "--crew", "model", "--reporter", "plain");
