import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { access } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../lib/json.ts";
import { shellWord } from "../lib/shell-word.ts";
import { cut } from "../protocol/refusal.ts";
import { changedArtifacts, type Snapshot, snapshot } from "./shell/artifacts.ts";
import { run, type RunningStep } from "./shell/run.ts";
import { errorReply, readTurn, type Reply, say, sayAnswer, type Turn } from "./turn.ts";

/**
 * The worker that runs an instruction's steps and answers with a `report`. If a step fails, the report's status is `error`, and the exit code is
 * still 0.
 */
async function main(): Promise<void> {
  const turn = await readTurn();
  if (turn === undefined) return;
  switch (turn.message.payload_type) {
    case "instruction": {
      const work = new Work(turn);
      process.once("SIGTERM", () => work.stop());
      // The scheduler has died. The next one repeats this turn.
      process.stdout.on("error", () => work.stop());
      const report = await work.report();
      if (report === undefined) process.exitCode = ENDED_BY_SIGTERM;
      else sayAnswer(turn, report);
      return;
    }
    case "instruction_proposal":
      sayAnswer(turn, readiness(turn));
      return;
    default:
      sayAnswer(
        turn,
        errorReply("validation_failed", `a shell worker has no answer to "${turn.message.payload_type}"`),
      );
  }
}

/** Answers a proposal with what the worker knows without starting to work. */
function readiness(turn: Turn): Reply {
  const steps = listOf(turn.message.payload["draft_steps"]).map(textWithin);
  const questions = listOf(turn.message.payload["open_questions"]).map(textWithin);
  return {
    payload_type: "report",
    payload: {
      status: "proposal",
      summary: `I would run the ${steps.length} steps in order and stop at the first that fails.`,
      issues: questions.map((question) => `I run commands and cannot answer: ${cut(question, 1_000)}`),
      next_actions: steps,
    },
  };
}

/** An expected output of this form is a file name; any other is prose. */
const FILE_NAME = /^(?!\/)(?!.*\.\.)[\w@+./-]+\.[A-Za-z0-9]+$/;

/** Maximum number of progress messages per instruction. The scheduler records 1,000 messages of a run, and the artifacts come last. */
const MAX_PROGRESS = 100;
/**
 * Maximum length of all evidence in UTF-16 units, shared equally by the steps. In JSON a unit takes up to six bytes, and a report longer than the
 * maximum line would be refused and the work repeated.
 */
const EVIDENCE_LENGTH = 1_000_000;
/** Maximum length of a text on the wire. */
const COMMAND_LENGTH = 100_000;
/** Maximum length of an issue or title, of which there may be a thousand. */
const TITLE_LENGTH = 500;
/** Maximum number of lines of a failed step's output in the report. */
const MAX_LINES = 10;
/** Maximum number of entries of a list on the wire. */
const MAX_ENTRIES = 1_000;
/** The exit code of a program ended by SIGTERM. */
const ENDED_BY_SIGTERM = 143;
/** How long after the end of a step a signal to the whole group can arrive here, in ms. */
const OWN_SIGNAL_MS = 100;

class Work {
  readonly #turn: Turn;
  readonly #evidence: JsonObject[] = [];
  #running: RunningStep | undefined;
  #stopped = false;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Ends the running step; `report` then resolves to undefined. */
  stop(): void {
    this.#stopped = true;
    this.#running?.stop();
  }

  /** Runs the steps in order until one fails, registers their artifacts and returns the report; undefined if stopped. */
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

  /** Returns the issue of the step that failed; undefined if all steps succeeded. */
  async #steps(steps: readonly Json[], workspace: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
    const share = Math.min(Math.floor(EVIDENCE_LENGTH / 3 / Math.max(steps.length, 1)), COMMAND_LENGTH);
    const told = Math.ceil(steps.length / MAX_PROGRESS);
    for (const [index, step] of steps.entries()) {
      const { argv, line, as_evidence } = commandOf(step);
      const title = cut(textWithin(step) || line, Math.min(TITLE_LENGTH, share));
      if (this.#stopped) return undefined;
      if (index % told === 0) this.#progress(`step ${index + 1} of ${steps.length}: ${title}`);
      if (argv.length === 0) {
        this.#evidence.push({ text: `Noted; there is nothing to run: ${title}` });
        continue;
      }
      this.#running = run(argv, workspace, env);
      const { exit_code, output } = await this.#running.ended;
      // A signal to the group may end the step before it arrives here. A stopped turn must not report a failed step.
      if (exit_code === ENDED_BY_SIGTERM && !this.#stopped) await delay(OWN_SIGNAL_MS);
      if (this.#stopped) return undefined;
      const command = JSON.stringify(as_evidence).length <= share ? as_evidence : cut(line, share);
      this.#evidence.push({ text: title, command, exit_code, output: endOf(output, share) });
      if (exit_code === 0) continue;
      return `step ${index + 1} of ${steps.length} ended with exit code ${exit_code}: ${title}${lastLines(output)}`;
    }
    const worked = this.#evidence.some((entry) => entry["exit_code"] !== undefined);
    return worked ? undefined : "no step has a command or a shell text, so a shell worker has nothing to run";
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
          `the expected output ${cut(name, TITLE_LENGTH)} is neither in the artifacts directory nor in the workspace`,
      ),
    ];
    const done = this.#evidence.filter((entry) => entry["exit_code"] === 0).length;
    const kept =
      artifacts.length === 0 ? "" : `, ${artifacts.length} ${artifacts.length === 1 ? "artifact" : "artifacts"} kept`;
    return {
      payload_type: "report",
      payload: {
        status: problems.length === 0 ? "completed" : "error",
        summary: problems[0] ?? `${done} of ${steps} steps run${kept}`,
        outputs: artifacts.map((artifact) => ({ label: artifact["label"], uri: artifact["uri"] })),
        evidence: this.#evidence,
        issues: [...problems, ...issues].slice(0, MAX_ENTRIES),
      },
    };
  }

  async #missingOutputs(directories: readonly string[]): Promise<string[]> {
    const ticket = objectOf(this.#turn.context["ticket"]);
    const expected = listOf(objectOf(ticket["task"])["expected_outputs"] ?? ticket["expected_outputs"]).map(textWithin);
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

/** The command of a step: to run, as one line for people, and as evidence. */
function commandOf(step: Json): { argv: readonly string[]; line: string; as_evidence: Json } {
  const { shell, command } = objectOf(step);
  const argv = listOf(command).filter((part) => typeof part === "string");
  if (argv.length === 0 && typeof shell === "string")
    return { argv: ["sh", "-c", shell], line: shell, as_evidence: shell };
  const line = argv.map(shellWord).join(" ");
  return { argv, line, as_evidence: argv };
}

/** The last lines that a failed step printed, for readers of the report, who have not seen the evidence. */
function lastLines(output: string): string {
  const lines = output.split("\n").flatMap((line) => (line.trim() === "" ? [] : [cut(line.trim(), TITLE_LENGTH)]));
  return lines.length === 0 ? "" : `. It printed:\n${lines.slice(-MAX_LINES).join("\n")}`;
}

/** The end of a text: at most `most` UTF-16 units, without half a character at its start. */
function endOf(text: string, most: number): string {
  return text.slice(-most).replace(/^[\uDC00-\uDFFF]/, "");
}

try {
  await main();
} catch (error) {
  process.stderr.write(`shell: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
