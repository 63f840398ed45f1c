// Runs the commands of an example: with a key in the environment (`bosun models` lists which) on that model, without one on a scripted model on this machine.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Worker } from "node:worker_threads";

const bosun = process.env.BOSUN_PROGRAM ?? resolve(import.meta.dirname, "../../dist/bin.js");

/** The environment of a scripted model, if nothing says which model to ask. `script` is the address of a module with an `answerTo`. */
async function scripted(script) {
  const isNamed = Object.keys(process.env).some((name) => /^(?:LLM_|(?:ANTHROPIC|OPENAI|XAI|GEMINI)_API_KEY$)/.test(name));
  if (isNamed) return {};
  console.log("No key is set, so a scripted model answers. Set ANTHROPIC_API_KEY to ask a real one.\n");
  // A thread of its own: this one waits for the commands.
  const worker = new Worker(new URL("model.mjs", import.meta.url), { workerData: String(script) });
  worker.unref();
  const port = await new Promise((told, failed) => worker.once("message", told).once("error", failed));
  return { LLM_PROVIDER: "openai-compatible", LLM_MODEL: "scripted", LLM_BASE_URL: `http://127.0.0.1:${port}/v1` };
}

/** Returns a function that runs a command of Bosun in the directory that is named on the command line, or in a new one. Exits if a command fails. */
export async function example(name, script) {
  const directory = process.argv[2] ?? mkdtempSync(join(tmpdir(), `bosun-${name}-`));
  mkdirSync(directory, { recursive: true });
  const env = { ...process.env, ...(await scripted(script)) };
  console.log(`In ${directory}\n`);
  return (...words) => {
    console.log(`$ bosun ${words.map((word) => (/^[\w./=,-]+$/.test(word) ? word : `"${word}"`)).join(" ")}`);
    const { status } = spawnSync(process.execPath, [bosun, ...words], { cwd: directory, env, stdio: "inherit" });
    console.log();
    if (status !== 0) process.exit(status ?? 70);
  };
}
