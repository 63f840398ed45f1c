import { access, constants } from "node:fs/promises";
import { listOf, textWithin } from "../lib/json.ts";
import { ENDED_BY_SIGTERM, Work } from "./shell/work.ts";
import { cutTo, errorReply, readTurn, type Reply, sayAnswer, type Turn } from "./turn.ts";

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
      sayAnswer(turn, await readiness(turn));
      return;
    default:
      sayAnswer(
        turn,
        errorReply("validation_failed", `a shell worker has no answer to "${turn.message.payload_type}"`),
      );
  }
}

/** Answers a proposal with what the worker knows without starting to work. */
async function readiness(turn: Turn): Promise<Reply> {
  const issues: string[] = [];
  await access(turn.workspace, constants.R_OK | constants.X_OK).catch(() =>
    issues.push(`the workspace ${turn.workspace} cannot be read`),
  );
  await access(turn.artifacts_dir, constants.W_OK).catch(() =>
    issues.push(`${turn.artifacts_dir} cannot be written to`),
  );
  const steps = listOf(turn.message.payload["draft_steps"]).map(textWithin);
  const questions = listOf(turn.message.payload["open_questions"]).map(textWithin);
  return {
    payload_type: "report",
    payload: {
      status: "proposal",
      summary: `I would run the ${steps.length} steps in order and stop at the first that fails.`,
      evidence: issues.length === 0 ? ["The workspace can be read and the artifacts directory written to."] : [],
      issues: [
        ...issues,
        ...questions.map((question) => `I run commands and cannot answer: ${cutTo(question, 1_000)}`),
      ].slice(0, 1_000),
      next_actions: steps,
    },
  };
}

try {
  await main();
} catch (error) {
  process.stderr.write(`shell: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
