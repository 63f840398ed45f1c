import {
  copyFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import SqliteDatabase from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { databasePath } from "../../src/store/database.ts";
import { typed } from "./in-process.ts";
import { type Rig, rig, tinyPlan, until } from "./rig.ts";

const TASKS = [
  { task_id: "one", shell: "echo one >> one" },
  { task_id: "two", shell: "echo two >> two", dependencies: ["one"] },
];

/** A home with a session that a limit has stopped after its first task. */
async function stopped(): Promise<Rig> {
  const here = rig();
  const plan = here.write("plan.json", tinyPlan(TASKS));
  const { code, stderr } = await typed(here, ["run", "--plan", plan, "--session", "s1", "--budget-turns", "2"]);
  if (code !== 5) throw new Error(`the run ended with ${code}: ${stderr}`);
  return here;
}

/** The rows of a home's database, without what depends on the process that wrote them. */
function rowsOf({ home }: Rig): object {
  const database = new SqliteDatabase(databasePath(home), { readonly: true });
  const all = (query: string) => database.prepare(query).all();
  const rows = {
    sessions: all(
      "SELECT session_id, mode, state, outcome, requirement, workspace, parent, last_sequence, head, roles FROM sessions ORDER BY session_id",
    ),
    records: all(
      "SELECT session_id, sequence, payload_type, subject, hash, line FROM records JOIN sessions USING (session) ORDER BY 1, 2",
    ),
    state: all(
      "SELECT session_id, collection, id, json(value) AS value FROM state JOIN sessions USING (session) WHERE collection NOT IN ('clock', 'process', 'told') ORDER BY 1, 2, 3",
    ),
    artifacts: all(
      "SELECT session_id, sequence, subject, label, path, digest, size_bytes FROM artifacts JOIN sessions USING (session) ORDER BY 1, 2",
    ),
  };
  database.close();
  return rows;
}

function edit({ home }: Rig, sql: string): void {
  const database = new SqliteDatabase(databasePath(home));
  database.exec(sql);
  database.close();
}

function removeDatabase({ home }: Rig): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(databasePath(home) + suffix, { force: true });
}

/** The names of the databases in a home that a rebuild has put aside. */
const aside = ({ home }: Rig) => readdirSync(home).filter((name) => /^bosun\.db\..*\.(?:bak|damaged)$/.test(name));

/** Resumes the session to its end. Each task has run once, and the log is proved. */
async function goesOn(here: Rig): Promise<void> {
  const resumed = await here.run(["resume", "s1", "--budget-turns", "20", "--no-input"]);
  expect([resumed.code, resumed.stderr]).toEqual([0, expect.anything()]);
  for (const { task_id } of TASKS) expect(readFileSync(join(here.workspace, task_id), "utf8")).toBe(`${task_id}\n`);
  expect((await here.run(["replay", "s1", "--verify"])).code).toBe(0);
}

describe("a database", () => {
  it("that is lost is named by every command, made anew from the logs, and the session goes on", async () => {
    const here = await stopped();
    const before = rowsOf(here);
    removeDatabase(here);
    for (const args of [["status"], ["inbox"], ["resume"], ["log", "s1"]]) {
      const { code, stderr } = await here.run(args);
      expect([code, stderr]).toEqual([3, expect.stringContaining("bosun rebuild")]);
    }
    const { code, stdout } = await here.run(["rebuild"]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("s1")]);
    expect(rowsOf(here)).toEqual(before);
    expect(aside(here)).toEqual([]);
    await goesOn(here);
  });

  it("whose -wal is lost after its scheduler was killed is made anew, and the session goes on", async () => {
    const here = rig();
    const tasks = [
      { task_id: "one", shell: "echo one >> one" },
      { task_id: "two", shell: "until [ -e go ]; do sleep 0.1; done; echo two >> two", dependencies: ["one"] },
    ];
    const run = here.start([
      "run",
      "--plan",
      here.write("plan.json", tinyPlan(tasks)),
      "--session",
      "s1",
      "--no-input",
      "--foreground",
    ]);
    await until("the second task", async () => {
      const { stdout } = await typed(here, ["status", "s1", "--json"]);
      return stdout.includes('"ticket_id":"two","task_id":"two","description":"Do two","status":"in_progress"');
    });
    run.child.kill("SIGKILL");
    await run.done;
    for (const suffix of ["-wal", "-shm"]) rmSync(databasePath(here.home) + suffix);
    for (const args of [["status"], ["inbox"], ["resume"]]) {
      const { stderr } = await here.run(args);
      expect(stderr).toContain("logs: s1");
      expect(stderr).toContain("rebuild");
    }
    expect((await here.run(["rebuild", "s1"])).code).toBe(0);
    writeFileSync(join(here.workspace, "go"), "");
    await goesOn(here);
  });

  it("that is an older copy gets the records that it lacks, and nothing runs before", async () => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan(TASKS));
    expect((await typed(here, ["run", "--plan", plan, "--session", "s1", "--budget-turns", "1"])).code).toBe(5);
    edit(here, "PRAGMA wal_checkpoint(TRUNCATE)");
    copyFileSync(databasePath(here.home), join(here.home, "older"));
    expect((await typed(here, ["resume", "s1", "--budget-turns", "2"])).code).toBe(5);
    const before = rowsOf(here);
    removeDatabase(here);
    copyFileSync(join(here.home, "older"), databasePath(here.home));
    for (const args of [["status"], ["inbox"]]) expect((await here.run(args)).stderr).toContain("logs: s1");
    const refused = await here.run(["resume", "s1", "--budget-turns", "9"]);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining("rebuild s1")]);
    expect((await here.run(["replay", "s1", "--verify"])).code).toBe(6);
    expect((await here.run(["rebuild"])).code).toBe(0);
    expect(rowsOf(here)).toEqual(before);
    await goesOn(here);
  });

  it("with a changed row gets the records of the log again, and is kept as it was beside it", async () => {
    const here = await stopped();
    const before = rowsOf(here);
    edit(here, "UPDATE records SET line = replace(line, 'echo two', 'echo evil')");
    edit(here, "UPDATE state SET value = '{}' WHERE collection = 'ticket'");
    const changed = rowsOf(here);
    const { code, stdout } = await here.run(["rebuild", "s1"]);
    expect(code).toBe(0);
    expect(rowsOf(here)).toEqual(before);
    const [copy = "", another] = aside(here);
    expect([another, stdout]).toEqual([undefined, expect.stringContaining(copy)]);
    removeDatabase(here);
    copyFileSync(join(here.home, copy), databasePath(here.home));
    expect(rowsOf(here)).toEqual(changed);
  });

  it("forgets what became of messages to a session whose rows are replaced", async () => {
    const here = await stopped();
    edit(here, "INSERT INTO inbox_outcomes SELECT session, 1, 1, NULL FROM sessions");
    edit(here, "UPDATE state SET value = '{}' WHERE collection = 'ticket'");
    expect((await here.run(["rebuild", "s1"])).code).toBe(0);
    const database = new SqliteDatabase(databasePath(here.home), { readonly: true });
    expect(database.prepare("SELECT count(*) FROM inbox_outcomes").pluck().get()).toBe(0);
    database.close();
  });

  it("that is no database is moved aside once the new one is complete", async () => {
    const here = await stopped();
    const before = rowsOf(here);
    removeDatabase(here);
    writeFileSync(databasePath(here.home), "garbage ".repeat(5_000));
    const { code, stdout } = await here.run(["rebuild", "s1"]);
    const [moved = ""] = aside(here);
    expect([code, stdout]).toEqual([0, expect.stringContaining(moved)]);
    expect(readFileSync(join(here.home, moved), "utf8")).toBe("garbage ".repeat(5_000));
    expect(rowsOf(here)).toEqual(before);
    await goesOn(here);
  });

  it("that has more than the log is left as it is", async () => {
    const here = await stopped();
    const logs = join(here.home, "logs", "s1");
    for (const name of readdirSync(logs)
      .filter((one) => one.endsWith(".json"))
      .slice(-3))
      rmSync(join(logs, name));
    await typed(here, ["tell", "s1", "Remember this."]);
    const before = rowsOf(here);
    expect((await here.run(["rebuild"])).code).toBe(0);
    expect(rowsOf(here)).toEqual(before);
    expect(aside(here)).toEqual([]);
    expect((await typed(here, ["status", "s1", "--json"])).stdout).toContain('"kept":[{"said":"tell"');
  });
});

describe("bosun rebuild", () => {
  it("leaves a session whose folder does not verify, names it, and rebuilds the others", async () => {
    const here = await stopped();
    const plan = here.write("other.json", tinyPlan([{ task_id: "other", shell: "true" }]));
    expect((await typed(here, ["run", "--plan", plan, "--session", "s2"])).code).toBe(0);
    const file = join(here.home, "logs", "s1", "000002-requirement.json");
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace("Write some files", "Write no files"));
    removeDatabase(here);
    const { code, stdout } = await here.run(["rebuild"]);
    expect([code, stdout]).toEqual([6, expect.stringMatching(/^s1 .*record 2.*\ns2 /s)]);
    const listed = JSON.parse((await typed(here, ["status", "--all", "--json"])).stdout) as { session_id: string }[];
    expect(listed.map(({ session_id }) => session_id)).toEqual(["s2"]);
    writeFileSync(file, text);
    expect((await here.run(["rebuild", "s1"])).code).toBe(0);
    await goesOn(here);
  });

  it("refuses a session that a process runs, and changes nothing", async () => {
    const here = rig();
    const plan = tinyPlan([{ task_id: "one", shell: "until [ -e go ]; do sleep 0.1; done" }]);
    const run = here.start([
      "run",
      "--plan",
      here.write("plan.json", plan),
      "--session",
      "s1",
      "--no-input",
      "--foreground",
    ]);
    await until("the task", async () => (await typed(here, ["status", "s1"])).stdout.includes("in_progress"));
    expect((await here.run(["rebuild"])).code).toBe(7);
    expect(aside(here)).toEqual([]);
    writeFileSync(join(here.workspace, "go"), "");
    expect((await run.done).code).toBe(0);
  });

  it("refuses a name that has no log folder", async () => {
    const here = await stopped();
    expect((await here.run(["rebuild", "s2"])).code).toBe(2);
    expect((await rig().run(["rebuild"])).code).toBe(2);
  });
});

it.each(["logs", "sessions"])("nothing is written through a link in %s", async (place) => {
  const here = await stopped();
  const elsewhere = join(here.home, "..", "elsewhere");
  const folder = join(here.home, place, "s1");
  rmSync(folder, { recursive: true });
  symlinkSync(elsewhere, folder);
  const { code, stderr } = await here.run(["resume", "s1", "--budget-turns", "9"]);
  expect([code, stderr]).toEqual([3, expect.stringContaining(folder)]);
  expect(existsSync(elsewhere)).toBe(false);
});

describe("a damaged database never looks like a bug,", () => {
  const VALUES = ["{}", "5", "{"];
  const EDITS = [
    ...["ticket", "turn", "session", "figures"].flatMap((collection) =>
      VALUES.map((value) => `UPDATE state SET value = '${value}' WHERE collection = '${collection}'`),
    ),
    "DELETE FROM state",
    "INSERT INTO state SELECT session, 'turn', 't9', '{}' FROM sessions",
    "INSERT INTO state SELECT session, 'nonsense', 'x', '5' FROM sessions",
    ...["mode", "state", "workspace", "head", "created_at", "updated_at"].map(
      (name) => `UPDATE sessions SET ${name} = 'garbage'`,
    ),
    ...["last_sequence", "published"].flatMap((name) =>
      [0, 3, 99_999_999].map((number) => `UPDATE sessions SET ${name} = ${number}`),
    ),
    ...["line", "hash", "payload_type"].flatMap((name) =>
      ["", "{}"].map((value) => `UPDATE records SET ${name} = '${value}' WHERE sequence = 1`),
    ),
    "DELETE FROM records",
    "INSERT INTO records SELECT session, last_sequence + 1, 'report', NULL, 'x', 'x' FROM sessions",
    ...VALUES.map((value) => `UPDATE inbox SET body = '${value}', actor = '${value}'`),
    ...["records", "state", "inbox", "migrations"].map((table) => `PRAGMA foreign_keys = OFF; DROP TABLE ${table}`),
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'garbage' WHERE name = 'state'",
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'session INTEGER', 'x INTEGER') WHERE name = 'records'",
    "CREATE TRIGGER no AFTER UPDATE ON sessions BEGIN SELECT raise(ABORT, 'no'); END",
  ];
  const COMMANDS = [
    ["status"],
    ["status", "s1"],
    ["inbox"],
    ["log", "s1"],
    ["replay", "s1", "--verify"],
    ["report", "s1"],
    ["answer", "s1", "x"],
    ["resume", "s1", "--budget-turns", "9"],
  ];

  it("whatever is written into it", async () => {
    const here = await stopped();
    await typed(here, ["tell", "s1", "Hello."]);
    edit(here, "PRAGMA wal_checkpoint(TRUNCATE)");
    for (const [index, sql] of EDITS.entries()) {
      const home = join(here.home, "..", `home-${index}`);
      cpSync(here.home, home, { recursive: true });
      const database = new SqliteDatabase(databasePath(home));
      database.unsafeMode();
      database.exec(sql);
      database.close();
      for (const args of COMMANDS) {
        const { code } = await typed(here, args, { BOSUN_HOME: home });
        expect([sql, args.join(" "), code]).toEqual([sql, args.join(" "), expect.toBeOneOf([0, 2, 3, 4, 5, 6])]);
      }
    }
  });
});
