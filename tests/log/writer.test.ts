import { execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ok } from "../../src/lib/result.ts";
import { attempt } from "../../src/log/attempt.ts";
import { verifyFolder } from "../../src/log/verify.ts";
import { LogFolder } from "../../src/log/writer.ts";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import type { SealedRecord } from "../../src/protocol/record.ts";
import { chain, unsealed } from "../store/records.ts";
import { temporaryDirectory } from "../store/rig.ts";
import { failureOf, value } from "../results.ts";

function folder(directory = join(temporaryDirectory(), "logs", "s1")): LogFolder {
  const opened = value(LogFolder.open(directory));
  onTestFinished(() => opened.close());
  return opened;
}

/** The committed records from a sequence on, as the store gives them. */
function from(records: readonly SealedRecord[]) {
  return (sequence: number) => records.filter((record) => record.sequence >= sequence);
}

function contents(directory: string): Record<string, string> {
  const files = readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), "utf8")]);
  return Object.fromEntries(files) as Record<string, string>;
}

/** A session of five records, three of which move two tickets. */
function session(): SealedRecord[] {
  return chain(5, (sequence) => {
    const { record } = unsealed(sequence);
    const effect = { from: "pending", event: "go", to: "in_progress" };
    const effects = sequence < 3 ? [] : ["a", "b"].map((ticket) => ({ ...effect, ticket_id: ticket }));
    return { record: { ...record, effects } } satisfies Partial<UnsealedRecord>;
  });
}

describe("publishing", () => {
  test("writes each record to a file named by number and type, and its events to events.log", () => {
    const records = session();
    const log = folder();
    value(log.publish(records.slice(0, 2)));
    value(log.publish(records.slice(2)));
    const files = contents(log.directory);
    expect(Object.keys(files).sort()).toEqual([
      "000001-session_opened.json",
      "000002-report.json",
      "000003-report.json",
      "000004-report.json",
      "000005-report.json",
      "events.log",
    ]);
    const lines = Object.keys(files)
      .sort()
      .map((name) => files[name]);
    expect(lines.slice(0, 5)).toEqual(records.map((record) => record.line));
    const sequences = files["events.log"]?.split("\n").map((line) => /#(\d+)/.exec(line)?.[1]);
    expect(sequences).toEqual(["1", "2", "3", "3", "4", "4", "5", "5", undefined]);
  });

  test("the same records again changes nothing", () => {
    const log = folder();
    value(log.publish(session()));
    const before = contents(log.directory);
    const inodes = () => readdirSync(log.directory).map((name) => statSync(join(log.directory, name)).ino);
    const inodesBefore = inodes();
    value(log.publish(session()));
    expect(contents(log.directory)).toEqual(before);
    expect(inodes()).toEqual(inodesBefore);
  });

  test("gives a sequence over 999,999 more digits", () => {
    const log = folder();
    const [record] = chain(1) as [SealedRecord];
    value(log.publish([{ ...record, sequence: 1_000_000 }]));
    expect(existsSync(join(log.directory, "1000000-session_opened.json"))).toBe(true);
  });

  test("never overwrites a file with other content", () => {
    const log = folder();
    const records = session();
    value(log.publish(records.slice(0, 1)));
    const path = join(log.directory, "000002-report.json");
    const forged = records[1]?.line.replace("done", "DONE") ?? "";
    const { mtimeMs } = statSync(log.directory);
    // The file system's clock ticks only every few milliseconds.
    do {
      rmSync(path, { force: true });
      writeFileSync(path, forged);
    } while (statSync(log.directory).mtimeMs === mtimeMs);
    const failure = failureOf(log.publish(records.slice(1)));
    expect(failure.code).toBe("conflict");
    expect(failure.message).toContain(path);
    expect(readFileSync(path, "utf8")).toBe(forged);
    expect(failureOf(log.catchUp(1, from(records))).code).toBe("conflict");
    expect(readFileSync(path, "utf8")).toBe(forged);
  });

  test("does not wait for a pipe in place of a record", () => {
    const log = folder();
    const records = session();
    value(log.publish(records.slice(0, 1)));
    const path = join(log.directory, "000002-report.json");
    execFileSync("mkfifo", [path]);
    // A writer of the right record, so that reading it would end.
    const writer = spawn("sh", ["-c", 'printf %s "$1" > "$2"', "sh", records[1]?.line ?? "", path]);
    expect(failureOf(log.catchUp(1, from(records)))).toMatchObject({
      code: "conflict",
      message: expect.stringContaining(path) as string,
    });
    writer.kill();
  });

  test("writes nothing into a folder that was moved away", () => {
    const log = folder();
    const records = session();
    value(log.publish(records.slice(0, 2)));
    renameSync(log.directory, `${log.directory}-moved`);
    const failure = failureOf(log.publish(records.slice(2)));
    expect(failure).toMatchObject({ code: "storage", message: expect.stringContaining(log.directory) as string });
    expect(existsSync(log.directory)).toBe(false);
    mkdirSync(log.directory);
    expect(failureOf(log.publish(records.slice(2))).code).toBe("storage");
    expect(readdirSync(log.directory)).toEqual([]);
  });

  test("does not append lines again that a successor has appended", () => {
    const frozen = folder();
    const records = session();
    value(frozen.publish(records.slice(0, 2)));
    const successor = folder(frozen.directory);
    value(successor.publish(records.slice(0, 4)));
    const before = contents(frozen.directory);
    expect(failureOf(frozen.publish(records.slice(2, 3)))).toMatchObject({
      code: "conflict",
      message: expect.stringContaining("events.log was changed") as string,
    });
    expect(contents(frozen.directory)).toEqual(before);
  });

  test("names the path that cannot be written", () => {
    const directory = temporaryDirectory();
    writeFileSync(join(directory, "file"), "");
    const failure = failureOf(LogFolder.open(join(directory, "file", "s1")));
    expect(failure.code).toBe("storage");
    expect(failure.message).toContain(join(directory, "file"));

    const log = folder();
    mkdirSync(join(log.directory, ".publishing"));
    const refused = failureOf(log.publish(session()));
    expect(refused.code).toBe("storage");
    expect(refused.message).toContain(log.directory);
    expect(refused.hint).toContain("resume");
  });
});

describe("catching up", () => {
  const damages: [string, (directory: string) => void, { missing: number; torn: number }][] = [
    ["no damage", () => {}, { missing: 0, torn: 0 }],
    [
      "the files deleted",
      (directory) => readdirSync(directory).forEach((name) => rmSync(join(directory, name))),
      { missing: 5, torn: 0 },
    ],
    [
      "a file missing in the middle",
      (directory) => rmSync(join(directory, "000003-report.json")),
      { missing: 1, torn: 0 },
    ],
    [
      "a file cut short",
      (directory) => truncateSync(join(directory, "000004-report.json"), 100),
      { missing: 0, torn: 1 },
    ],
    ["an empty file", (directory) => truncateSync(join(directory, "000004-report.json"), 0), { missing: 0, torn: 1 }],
    [
      "blocks of zeros",
      (directory) => writeFileSync(join(directory, "000005-report.json"), Buffer.alloc(512)),
      { missing: 0, torn: 1 },
    ],
    [
      "a file that was not renamed yet",
      (directory) => writeFileSync(join(directory, ".publishing"), "{"),
      { missing: 0, torn: 0 },
    ],
    [
      "a directory in place of that file",
      (directory) => mkdirSync(join(directory, ".publishing", "inside"), { recursive: true }),
      { missing: 0, torn: 0 },
    ],
    ["an empty events.log", (directory) => truncateSync(join(directory, "events.log"), 0), { missing: 0, torn: 0 }],
    ["an event torn in the middle", (directory) => cut(directory, 20), { missing: 0, torn: 0 }],
    [
      "some of a record's events missing",
      (directory) => cut(directory, eventsOfLast(directory)),
      { missing: 0, torn: 0 },
    ],
    [
      "events of two records missing",
      (directory) => cut(directory, 2 * eventsOfLast(directory) + 30),
      { missing: 0, torn: 0 },
    ],
    [
      "lines that are not events",
      (directory) => appendFileSync(join(directory, "events.log"), "noise\n"),
      { missing: 0, torn: 0 },
    ],
  ];

  test.each(damages)("mends the folder after %s", (_what, damage, found) => {
    const records = session();
    const written = folder();
    value(written.publish(records));
    const before = contents(written.directory);
    damage(written.directory);

    const log = value(LogFolder.open(written.directory));
    onTestFinished(() => log.close());
    expect(value(log.catchUp(1, from(records)))).toEqual(found);
    expect(contents(log.directory)).toEqual(before);
    expect(value(log.catchUp(1, from(records)))).toEqual({ missing: 0, torn: 0 });
    expect(contents(log.directory)).toEqual(before);
  });

  test("writes earlier files that are missing, and leaves changed ones", () => {
    const records = session();
    const log = folder();
    value(log.publish(records.slice(0, 4)));
    const [first, second, third] = ["000001-session_opened.json", "000002-report.json", "000003-report.json"].map(
      (name) => join(log.directory, name),
    ) as [string, string, string];
    const [line = ""] = records.map((record) => record.line);
    rmSync(first);
    writeFileSync(second, "changed");
    renameSync(third, `${third}.away`);
    expect(value(log.catchUp(5, from(records)))).toEqual({ missing: 3, torn: 0 });
    expect([first, second].map((path) => readFileSync(path, "utf8"))).toEqual([line, "changed"]);
    expect(readFileSync(third, "utf8")).toBe(records[2]?.line);
    expect(readFileSync(join(log.directory, "events.log"), "utf8").match(/#\d/g)).toHaveLength(8);
    expect(value(log.catchUp(5, from(records)))).toEqual({ missing: 0, torn: 0 });
  });

  test("refuses a database older than the folder, and changes nothing", () => {
    const records = session();
    const log = folder();
    value(log.publish(records));
    const before = contents(log.directory);
    const failure = failureOf(log.catchUp(1, from(records.slice(0, 3))));
    expect(failure).toMatchObject({ code: "conflict", message: expect.stringContaining("record 5") as string });
    expect(contents(log.directory)).toEqual(before);
  });

  test("continues events.log, and publishing continues after it", () => {
    const records = session();
    const log = folder();
    value(log.publish(records.slice(0, 2)));
    value(log.catchUp(3, from(records.slice(0, 4))));
    value(log.publish(records.slice(4)));
    expect(readFileSync(join(log.directory, "events.log"), "utf8").match(/#\d/g)?.join("")).toBe("#1#2#3#3#4#4#5#5");
    expect(value(verifyFolder(log.directory))).toMatchObject({ integrity: "ok", records: 5 });
  });

  test("handles a record with more events than the tail of events.log that is read", () => {
    const effects = Array.from({ length: 3_000 }, (_, index) => ({
      ticket_id: `T-${index}`,
      from: null,
      event: "planned",
      to: "pending",
    }));
    const records = chain(2, (sequence) => ({
      record: { ...unsealed(sequence).record, effects: sequence === 2 ? effects : [] },
    }));
    const log = folder();
    value(log.publish(records));
    const before = contents(log.directory);
    expect(before["events.log"]?.length).toBeGreaterThan(200_000);
    cut(log.directory, 5_000);
    value(log.catchUp(1, from(records)));
    expect(contents(log.directory)["events.log"]).toBe(before["events.log"]);
  });
});

function cut(directory: string, bytes: number): void {
  const path = join(directory, "events.log");
  truncateSync(path, readFileSync(path).length - bytes);
}

/** The length of the last line of events.log, in bytes. */
function eventsOfLast(directory: string): number {
  const text = readFileSync(join(directory, "events.log"), "utf8");
  return Buffer.byteLength(text.slice(text.lastIndexOf("\n", text.length - 2) + 1));
}

test("gives storage_full for a limit on file sizes", () => {
  const outgrown = () => {
    throw Object.assign(new Error("EFBIG: file too large, write"), { code: "EFBIG", syscall: "write" });
  };
  const failed = attempt("/somewhere", outgrown);
  expect(failed).toMatchObject({ ok: false, error: { code: "storage_full" } });
  expect(JSON.stringify(failed)).toContain("ulimit -f unlimited");
});

test("throws an error of Node that is not from the system", () => {
  expect(() => attempt("/somewhere", () => ok(Buffer.alloc(-1)))).toThrow(
    expect.objectContaining({ code: "ERR_OUT_OF_RANGE" }) as Error,
  );
});
