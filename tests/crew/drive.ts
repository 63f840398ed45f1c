import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Json, type JsonObject, listOf, objectOf } from "../../src/lib/json.ts";
import { textOf } from "../../src/crew/turn.ts";
import { crewRun, directory, run, said, turnLine } from "./programs.ts";

/** What became of one task. */
interface Driven {
  readonly task_id: string;
  readonly decision: string;
  /** How often the work was done, and what the criteria said of each time. */
  readonly rounds: readonly { readonly report: JsonObject; readonly failed: readonly string[] }[];
  readonly artifacts: string;
  readonly discussed: boolean;
}

const MOST_ROUNDS = 3;

/**
 * Plays a plan file with the real crew in real processes, one task after the other: as little of a scheduler as shows that the programs
 * understand each other. `answers` are given by question id.
 */
export async function drive(
  planFile: string,
  workspace: string,
  answers: Readonly<Record<string, string>>,
): Promise<Driven[]> {
  const base = directory();
  const play = { planFile, workspace, clarifications: [] as Json[] };
  const asked = await manager(play, "requirement", { text: "Go." }, {}, base);
  for (const question of listOf(asked.payload["questions"]).map(objectOf)) {
    play.clarifications.push({
      question: textOf(question["text"]),
      answer: answers[textOf(question["question_id"])] ?? "",
    });
  }
  const plan = await manager(play, "clarification_response", { answers: [], status: "answered" }, {}, base);
  if (plan.type !== "plan") throw new Error(JSON.stringify(plan));
  const done: Driven[] = [];
  for (const task of listOf(plan.payload["tasks"]).map(objectOf)) done.push(await driveTask(play, task, done, base));
  return done;
}

interface Play {
  readonly planFile: string;
  readonly workspace: string;
  readonly clarifications: Json[];
}

async function driveTask(play: Play, task: JsonObject, before: readonly Driven[], base: string): Promise<Driven> {
  const id = textOf(task["task_id"]);
  const artifacts = join(base, id);
  const needs = listOf(task["dependencies"]).map(textOf);
  const dependencies = before.filter(({ task_id }) => needs.includes(task_id)).map(dependencyOf);
  const history: Json[] = [];
  const context = (): JsonObject => ({
    ticket: { ticket_id: id, task_id: id, status: "in_progress", task },
    history,
    dependencies,
  });
  const discussed = listOf(task["risks"]).length > 0;
  let given = await manager(
    play,
    "ticket",
    { ticket_id: id, task_id: id, status: "pending", task },
    context(),
    artifacts,
    discussed,
  );
  if (given.type === "instruction_proposal") {
    const proposal = await worker(play, "instruction_proposal", given.payload, context(), artifacts);
    given = await manager(play, "report", proposal, context(), artifacts);
  }
  if (given.type !== "instruction") throw new Error(JSON.stringify(given));
  const rounds: Driven["rounds"][number][] = [];
  const criteria = listOf(task["acceptance_criteria"]).map(objectOf);
  for (;;) {
    const report = await worker(play, "instruction", given.payload, context(), artifacts);
    const results = await Promise.all(criteria.map((criterion) => check(play, criterion, artifacts)));
    const failed = results.filter(({ passed }) => !passed).map(({ output }) => output);
    rounds.push({ report, failed });
    history.push({
      sequence: rounds.length,
      at: "2026-01-02T03:04:05Z",
      event: "checks",
      payload_type: "check_result",
      payload: { results },
    });
    if (failed.length > 0 && rounds.length < MOST_ROUNDS && report["status"] === "completed") continue;
    const reviewed = await manager(
      play,
      "review_request",
      { ticket_id: id, report, checks: results },
      context(),
      artifacts,
    );
    return { task_id: id, decision: textOf(reviewed.payload["decision"]), rounds, artifacts, discussed };
  }
}

/** What a task's dependants are told of it: artifacts as files, in the order in which they were made. */
function dependencyOf({ task_id, rounds, artifacts }: Driven): Json {
  const outputs = rounds.flatMap(({ report }) => listOf(report["outputs"]).map(objectOf));
  const uri = (output: JsonObject): string => {
    const own = textOf(output["uri"]);
    return pathToFileURL(own.startsWith("file:") ? fileURLToPath(own) : join(artifacts, own)).href;
  };
  return { task_id, artifacts: outputs.map((output) => ({ label: textOf(output["label"]), uri: uri(output) })) };
}

async function check(
  play: Play,
  criterion: JsonObject,
  artifacts: string,
): Promise<{ criterion: Json; exit_code: number | null; passed: boolean; output: string }> {
  const ran = await run(listOf(criterion["command"]).map(textOf), {
    cwd: play.workspace,
    env: { BOSUN_ARTIFACTS_DIR: artifacts },
  });
  return { criterion, exit_code: ran.code, passed: ran.code === 0, output: ran.stdout + ran.stderr };
}

async function manager(
  play: Play,
  type: string,
  payload: JsonObject,
  context: JsonObject,
  artifacts: string,
  discuss = false,
): Promise<{ type: string; payload: JsonObject }> {
  const expects = ["clarification", "plan", "instruction", "instruction_proposal", "review", "error"];
  const line = turnLine({
    type,
    payload,
    expects,
    context: { ...context, clarifications: play.clarifications },
    discuss,
    workspace: play.workspace,
    artifacts_dir: artifacts,
  });
  return await answer("playbook", line, play, artifacts);
}

async function worker(
  play: Play,
  type: string,
  payload: JsonObject,
  context: JsonObject,
  artifacts: string,
): Promise<JsonObject> {
  const line = turnLine({
    type,
    payload,
    expects: ["report"],
    context,
    workspace: play.workspace,
    artifacts_dir: artifacts,
  });
  return (await answer("shell", line, play, artifacts)).payload;
}

async function answer(
  program: "playbook" | "shell",
  input: string,
  play: Play,
  artifacts: string,
): Promise<{ type: string; payload: JsonObject }> {
  const env = {
    BOSUN_PLAYBOOK: play.planFile,
    BOSUN_ARTIFACTS_DIR: artifacts,
    BOSUN_SESSION_ID: "drive",
    TMPDIR: join(artifacts, ".."),
  };
  const ran = await crewRun(program, [], { cwd: play.workspace, env, input });
  const last = said(ran.stdout).envelopes.at(-1);
  if (ran.code !== 0 || last === undefined) throw new Error(`${program} exited with ${ran.code}: ${ran.stderr}`);
  return { type: last.payload_type, payload: last.payload as unknown as JsonObject };
}

/** A file that a task made. */
export function made(driven: readonly Driven[], task: string, file: string): string {
  const found = driven.find(({ task_id }) => task_id === task);
  return readFileSync(join(found?.artifacts ?? "", file), "utf8");
}
