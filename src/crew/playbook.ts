import { answer } from "./playbook/answer.ts";
import { loadPlanFile } from "./playbook/plan-file.ts";
import { errorReply, readTurn, sayAnswer } from "./turn.ts";

/** The manager that plays the plan file named by `BOSUN_PLAYBOOK`. It answers one turn and exits. */
async function main(): Promise<void> {
  const turn = await readTurn();
  if (turn === undefined) return;
  const path = process.env["BOSUN_PLAYBOOK"];
  if (path === undefined || path === "") {
    sayAnswer(
      turn,
      errorReply("invalid_plan", "BOSUN_PLAYBOOK is not set", "set it to the path of a plan file (YAML or JSON)"),
    );
    return;
  }
  const plan = await loadPlanFile(path, import.meta.filename);
  sayAnswer(
    turn,
    plan.ok
      ? answer(turn, plan.value, import.meta.filename)
      : errorReply("invalid_plan", plan.error, `correct ${path}`),
  );
}

try {
  await main();
} catch (error) {
  process.stderr.write(`playbook: ${(error as Error).message}\n`);
  process.exitCode = 2;
}
