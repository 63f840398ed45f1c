import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { access } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Json, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import type { Reply, Turn } from "../turn.ts";
import { cutTo, say, textOf } from "../turn.ts";
import type { Snapshot } from "./artifacts.ts";
import { changedArtifacts, snapshot } from "./artifacts.ts";
import type { Running } from "./run.ts";
import { run } from "./run.ts";

/** An expected output is looked for as a file when it can be nothing else: one word with an extension, below the directory. */
const FILE_NAME = /^(?!\/)(?!.*\.\.)[\w@+./-]+\.[A-Za-z0-9]+$/;

/** How often steps are told of: of the messages of a run only 1,000 are recorded, and the artifacts come last. */
const MOST_PROGRESS = 100;
/**
 * How many UTF-16 units all evidence may have together, each step an equal share: written as JSON one takes up to six bytes, and a report
 * that is longer than a line would have the same work done again.
 */
const EVIDENCE_LENGTH = 1_000_000;
/** The most that a command may have as one text. */
const COMMAND_LENGTH = 100_000;
/** No issue or title is longer, of which there may be a thousand. */
const TITLE_LENGTH = 500;
/** The most entries a list on the wire may have. */
const MOST_ENTRIES = 1_000;

/** The carrying-out of one instruction, which can be told to stop. */
export class Work {
  readonly #turn: Turn;
  readonly #evidence: JsonObject[] = [];
  #running: Running | undefined;
  #stopped = false;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Ends the step under way; the promise of `report` then resolves to undefined. */
  stop(): void {
    this.#stopped = true;
    this.#running?.stop();
  }

  /** Runs the steps in order until one fails, registers what they made, and gives the report; undefined when stopped. */
  async report(): Promise<Reply | undefined> {
    const { workspace, artifacts_dir: artifactsDir, message } = this.#turn;
    const scratch = mkdtempSync(join(tmpdir(), "bosun-shell-"));
    try {
      const requestFile = join(scratch, "request.json");
      writeFileSync(requestFile, `${this.#turn.line.trim()}\n`, { mode: 0o600 });
      const env = { ...process.env, BOSUN_REQUEST_FILE: requestFile, BOSUN_ARTIFACTS_DIR: artifactsDir };
      const before = await snapshot(artifactsDir);
      const steps = listOf(message.payload["steps"]);
      const failed = await this.#steps(steps, workspace, env);
      if (this.#stopped) return undefined;
      return await this.#finished(steps.length, failed, before);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }

  /** What was wrong with the step that failed; undefined when all went well. */
  async #steps(steps: readonly Json[], workspace: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
    const share = Math.min(Math.floor(EVIDENCE_LENGTH / 3 / Math.max(steps.length, 1)), COMMAND_LENGTH);
    const told = Math.ceil(steps.length / MOST_PROGRESS);
    for (const [index, step] of steps.entries()) {
      const { argv, line, told_as } = commandOf(step);
      const title = cutTo(textOf(step) || line, Math.min(TITLE_LENGTH, share));
      if (this.#stopped) return undefined;
      if (index % told === 0) this.#progress(`step ${index + 1} of ${steps.length}: ${title}`);
      if (argv.length === 0) {
        this.#evidence.push({ text: `Noted; there is nothing to run: ${title}` });
        continue;
      }
      this.#running = run(argv, workspace, env);
      const { exit_code, output } = await this.#running.ended;
      const command = JSON.stringify(told_as).length <= share ? told_as : cutTo(line, share);
      this.#evidence.push({ text: title, command, exit_code, output: endOf(output, share) });
      if (exit_code === 0) continue;
      return `step ${index + 1} of ${steps.length} ended with exit code ${exit_code}: ${title}${lastWords(output)}`;
    }
    const worked = this.#evidence.some((entry) => entry["exit_code"] !== undefined);
    return worked ? undefined : "no step has a command or a shell text, and a shell worker can do nothing else";
  }

  async #finished(steps: number, failed: string | undefined, before: Snapshot): Promise<Reply> {
    const { workspace, artifacts_dir: artifactsDir } = this.#turn;
    const { artifacts, issues } = await changedArtifacts(artifactsDir, before);
    for (const artifact of artifacts) say(this.#turn, { payload_type: "artifact_ref", payload: artifact });
    const missing = failed === undefined ? await this.#missingOutputs([artifactsDir, workspace]) : [];
    const problems = [
      ...(failed === undefined ? [] : [failed]),
      ...missing.map(
        (name) =>
          `the expected output ${cutTo(name, TITLE_LENGTH)} is neither in the artifacts directory nor in the workspace`,
      ),
    ];
    const done = this.#evidence.filter((entry) => entry["exit_code"] === 0).length;
    return {
      payload_type: "report",
      payload: {
        status: problems.length === 0 ? "completed" : "error",
        summary: problems[0] ?? `${done} of ${steps} steps run${keptWords(artifacts.length)}`,
        outputs: artifacts.map((artifact) => ({ label: artifact["label"], uri: artifact["uri"] })),
        evidence: this.#evidence,
        issues: [...problems, ...issues].slice(0, MOST_ENTRIES),
      },
    };
  }

  async #missingOutputs(directories: readonly string[]): Promise<string[]> {
    const ticket = objectOf(this.#turn.context["ticket"]);
    const expected = listOf(objectOf(ticket["task"])["expected_outputs"] ?? ticket["expected_outputs"]).map(textOf);
    const missing: string[] = [];
    for (const name of expected.filter((text) => FILE_NAME.test(text))) {
      const found = directories.map((directory) => access(join(directory, name)));
      if (!(await Promise.allSettled(found)).some(({ status }) => status === "fulfilled")) missing.push(name);
    }
    return missing;
  }

  #progress(summary: string): void {
    say(this.#turn, { payload_type: "report", payload: { status: "progress", summary } });
  }
}

/** Files of the workspace are nobody's to count: only those put into the artifacts directory are kept. */
function keptWords(artifacts: number): string {
  return artifacts === 0 ? "" : `, ${artifacts} ${artifacts === 1 ? "artifact" : "artifacts"} kept`;
}

/** What a step runs, that as one line for people, and as evidence tells it. */
function commandOf(step: Json): { argv: readonly string[]; line: string; told_as: Json } {
  const { shell, command } = objectOf(step);
  const argv = listOf(command).filter((part) => typeof part === "string");
  if (argv.length === 0 && typeof shell === "string") return { argv: ["sh", "-c", shell], line: shell, told_as: shell };
  const line = argv.map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : JSON.stringify(part))).join(" ");
  return { argv, line, told_as: argv };
}

/** Why a step failed, as far as it said so itself: whoever reads the report has not seen the evidence. */
function lastWords(output: string): string {
  const last = output.split("\n").findLast((line) => line.trim() !== "");
  return last === undefined ? "" : `; the last it said: ${cutTo(last.trim(), TITLE_LENGTH)}`;
}

/** The last so many UTF-16 units of a text, from the beginning of a character on. */
function endOf(text: string, most: number): string {
  return text.slice(-most).replace(/^[\uDC00-\uDFFF]/, "");
}
