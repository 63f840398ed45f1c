import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { frozen } from "../crash/freeze.ts";
import { onlySession, typedJson } from "./in-process.ts";
import { ASKING, type Rig, tinyPlan, until } from "./rig.ts";

/** A task that writes its pid, then waits for the file `go`. */
export const WAITING_TASK = {
  task_id: "wait",
  shell: "echo $$ > pid; until [ -e go ]; do sleep 0.05; done; echo done > out.txt",
};

/** A plan of that task alone. */
export const WAIT = tinyPlan([WAITING_TASK]);

/** A plan that asks for a name, and writes it to a file. */
export const ASK = tinyPlan([{ task_id: "write", shell: "echo ${answers.name} > out.txt" }], ASKING);

/** The embedded crew with a worker whose interrupted turns are repeated only if a person says so. */
export const DOUBTFUL = JSON.stringify({
  roles: [
    { role_id: "playbook", type: "manager", cli_command: ["${node}", "${crew.playbook}"] },
    { role_id: "shell", type: "worker", recovery: "ask", cli_command: ["${node}", "${crew.shell}"] },
  ],
});

export interface Status {
  readonly state: string;
  readonly outcome: string | null;
  readonly owner: { readonly pid: number } | null;
}

export function statusOf(here: Rig, session_id: string): Promise<Status> {
  return typedJson<Status>(here, ["status", session_id, "--json"]);
}

export function sessionCloses(here: Rig, session_id: string): Promise<void> {
  return until("the session to close, and its scheduler to end", async () => {
    const { state, owner } = await statusOf(here, session_id);
    return state === "closed" && owner === null;
  });
}

/** Waits until the task runs; gives the only session and the process of its scheduler. */
export async function taskRuns(here: Rig): Promise<{ session_id: string; owner: number }> {
  await until("the task to run", () => existsSync(join(here.workspace, "pid")));
  const session_id = await onlySession(here);
  return { session_id, owner: (await statusOf(here, session_id)).owner?.pid ?? 0 };
}

/** Lets the task finish. */
export function letGo(here: Rig): void {
  writeFileSync(join(here.workspace, "go"), "");
}

/** Freezes a scheduler between two transactions: inside one it would hold the database lock. */
export async function freeze(here: Rig, pid: number): Promise<void> {
  await until("the scheduler to stand still between two transactions", async () => {
    process.kill(pid, "SIGSTOP");
    await until("it to stand still", () => frozen(pid));
    const database = new SqliteDatabase(join(here.home, "bosun.db"), { timeout: 0 });
    try {
      database.exec("BEGIN IMMEDIATE; ROLLBACK");
      return true;
    } catch {
      process.kill(pid, "SIGCONT");
      return false;
    } finally {
      database.close();
    }
  });
}
