import { spawnSync } from "node:child_process";
import SqliteDatabase from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { databasePath } from "../../src/store/database.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { value } from "../results.ts";
import { temporaryDirectory } from "./rig.ts";

const ROLES = [
  { role_id: "boss", type: "manager", cli_command: ["boss"], dialect: "envelope", env: { API_KEY: "[withheld]" } },
  { role_id: "ann", type: "worker", backend: "model", model: "m1", timeout_s: 5 },
];

/** A database with a session of two tickets: one of the manager's plan, one of the plan as the person edited it. */
function sample(): string {
  const home = temporaryDirectory();
  value(openStore(home)).close();
  const file = databasePath(home);
  const database = new SqliteDatabase(file);
  onTestFinished(() => void database.close());
  database.exec(
    "INSERT INTO sessions (session_id, mode, workspace, created_at, updated_at, head) VALUES ('s1', 'schedule', '/w', '', '', '')",
  );
  const insert = database.prepare("INSERT INTO records VALUES (1, ?, ?, NULL, 'h', ?)");
  const record = (sequence: number, payload_type: string, payload: object, effects?: readonly JsonObject[]) =>
    insert.run(
      sequence,
      payload_type,
      JSON.stringify({
        payload,
        record: { attempt: 1, ...(effects ? { effects } : {}), received_at: `at ${sequence}` },
        source: "boss",
      }),
    );
  const moved = (ticket_id: string, from: string | null, to: string, reason?: string): JsonObject => ({
    ticket_id,
    event: `to_${to}`,
    from,
    to,
    ...(reason === undefined ? {} : { reason }),
  });
  record(1, "session_opened", { roles: ROLES });
  record(2, "plan", { tasks: [{ task_id: "a", description: "Dig", expected_outputs: ["a hole"] }] }, [
    moved("a", null, "pending"),
  ]);
  record(3, "instruction_proposal", { summary: "With a spade" });
  record(
    4,
    "approval",
    { plan: { tasks: [{ task_id: "x" }, { task_id: "b", description: "Fill", dependencies: ["a"] }] } },
    [moved("b", null, "pending")],
  );
  record(10, "report", {}, [moved("b", "pending", "blocked", "timeout"), moved("a", "pending", "done")]);
  const ticket = database.prepare("INSERT INTO state VALUES (1, 'ticket', ?, ?)");
  const put = (id: string, rest: object) => ticket.run(id, JSON.stringify({ id, attempt: 1, depends_on: [], ...rest }));
  put("a", { order: 1, task: [2, "/tasks/0"], status: "done", owner: "ann", history: [3, 10] });
  put("b", { order: 0, task: [4, "/plan/tasks/1"], status: "blocked", reason: "timeout", depends_on: ["a"] });
  put("gone", { order: 2, task: [99, "/tasks/0"], status: "pending" });
  database.exec(
    "INSERT INTO artifacts (session, sequence, subject, label, uri, path, digest, size_bytes) VALUES (1, 10, 'a', 'hole', 'hole.txt', 'sessions/s1/artifacts/hole.txt', 'sha256:0', 1)",
  );
  return file;
}

type Query = (file: string, sql: string) => JsonObject[];

function withLibrary(file: string, sql: string): JsonObject[] {
  const database = new SqliteDatabase(file, { readonly: true });
  try {
    return database.prepare<[], JsonObject>(sql).all();
  } finally {
    database.close();
  }
}

function withCommand(file: string, sql: string): JsonObject[] {
  const run = spawnSync("sqlite3", ["-json", file, sql], { encoding: "utf8" });
  expect(run.stderr).toBe("");
  return JSON.parse(run.stdout) as JsonObject[];
}

const hasCommand = spawnSync("sqlite3", ["--version"]).status === 0;
const QUERIES: [string, Query][] = [
  ["the library", withLibrary],
  ...(hasCommand ? [["the sqlite3 command", withCommand] satisfies [string, Query]] : []),
];

test.each(QUERIES)("select * reads as a table of sessions, tickets and artifacts with %s", (_, query) => {
  const file = sample();
  const tickets = query(file, "SELECT * FROM tickets");
  const b = { session_id: "s1", ticket_id: "b", task_id: "b", description: "Fill", dependencies: '["a"]' };
  expect(tickets).toMatchObject([
    { ...b, status: "blocked", reason: "timeout", owner: null, attempts: 1, expected_outputs: null },
    { ticket_id: "a", description: "Dig", dependencies: "[]", owner: "ann", expected_outputs: '["a hole"]' },
    { ticket_id: "gone", task_id: "gone", description: null, history: "[]" },
  ]);
  const event = (sequence: number, payload_type: string, rest: object) => ({
    ...{ sequence, at: `at ${sequence}`, payload_type, source: "boss", attempt: 1 },
    ...rest,
  });
  expect(tickets.map(({ history }) => JSON.parse(history as string) as unknown)).toEqual([
    [
      event(4, "approval", { event: "to_pending", to: "pending" }),
      event(10, "report", { event: "to_blocked", from: "pending", to: "blocked", reason: "timeout" }),
    ],
    [
      event(2, "plan", { event: "to_pending", to: "pending" }),
      event(3, "instruction_proposal", {}),
      event(10, "report", { event: "to_done", from: "pending", to: "done" }),
    ],
    [],
  ]);
  const [session] = query(file, "SELECT * FROM sessions");
  expect(session).toMatchObject({ session_id: "s1", mode: "schedule", state: "created", workspace: "/w" });
  expect(JSON.parse(session?.roles as string)).toEqual([
    { role_id: "boss", type: "manager", backend: "cli", dialect: "envelope", cli_command: ["boss"] },
    { role_id: "ann", type: "worker", backend: "model", model: "m1" },
  ]);
  expect(query(file, "SELECT * FROM artifacts")).toMatchObject([
    { ticket: "a", label: "hole", uri: "hole.txt", path: "sessions/s1/artifacts/hole.txt", digest: "sha256:0" },
  ]);
});
