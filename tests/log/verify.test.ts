import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { canonicalJson } from "../../src/lib/canonical.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { seal } from "../../src/log/chain.ts";
import { listFolder, readFolder } from "../../src/log/reader.ts";
import { MAX_PROBLEMS, verifyFolder } from "../../src/log/verify.ts";
import { LogFolder } from "../../src/log/writer.ts";
import { SCHEMAS_DIGEST } from "../../src/protocol/generated/digest.ts";
import { MAX_RECORD_BYTES } from "../../src/protocol/limits.ts";
import { GENESIS, type LogRecord } from "../../src/protocol/record.ts";
import type { SealedRecord } from "../../src/protocol/record.ts";
import { chain, unsealed } from "../store/records.ts";
import { temporaryDirectory } from "../store/rig.ts";
import { failureOf, value } from "../results.ts";

const LENGTH = 8;

let directory: string;
let records: readonly SealedRecord[];

beforeEach(() => {
  directory = join(temporaryDirectory(), "s1");
  records = closed(LENGTH);
  write(records);
});

function closed(length: number): SealedRecord[] {
  return chain(length, (sequence) => (sequence === length ? { payload_type: "session_closed" } : {}));
}

function write(written: readonly SealedRecord[]): void {
  const log = value(LogFolder.open(directory));
  onTestFinished(() => log.close());
  value(log.publish(written));
}

function path(sequence: number): string {
  const name = readdirSync(directory).find((each) => each.startsWith(`${String(sequence).padStart(6, "0")}-`));
  return join(directory, name ?? `no file ${sequence}`);
}

function edit(sequence: number, change: (line: string) => string): void {
  const before = readFileSync(path(sequence), "utf8");
  const after = change(before);
  expect(after).not.toBe(before);
  writeFileSync(path(sequence), after);
}

/** Replaces a record by another that is valid in itself. */
function forge(sequence: number, previous: string): SealedRecord {
  const forged = seal(unsealed(sequence, { payload: { status: "completed", summary: "Forged." } }), {
    sequence,
    previous,
  });
  writeFileSync(path(sequence), forged.line);
  return forged;
}

describe("a folder", () => {
  test("that is complete and closed is ok", () => {
    expect(value(verifyFolder(directory))).toEqual({
      ok: true,
      records: LENGTH,
      integrity: "ok",
      completeness: "closed",
      head: { sequence: LENGTH, hash: records.at(-1)?.hash },
      problems: [],
    });
  });

  test("without its closing record is open, never ok", () => {
    rmSync(path(LENGTH));
    const expected = { ok: false, integrity: "ok", completeness: "open", records: LENGTH - 1, problems: [] };
    expect(value(verifyFolder(directory))).toMatchObject(expected);
    const head = { sequence: LENGTH - 1, hash: records[LENGTH - 2]?.hash ?? "" };
    expect(value(verifyFolder(directory, head))).toMatchObject(expected);
  });

  test("that is empty is open", () => {
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
    expect(value(verifyFolder(directory))).toMatchObject({ ok: false, records: 0, completeness: "open", head: null });
  });

  test("shorter than the known head is truncated", () => {
    const head = { sequence: LENGTH + 2, hash: "sha256:unknown" };
    expect(value(verifyFolder(directory, head))).toMatchObject({
      ok: false,
      integrity: "ok",
      completeness: "truncated",
      problems: [{ sequence: LENGTH + 1, what: "Records 9 to 10 are missing.", fault: "missing" }],
    });
  });

  test("that was deleted lacks all records up to the known head", () => {
    const head = { sequence: LENGTH, hash: records.at(-1)?.hash ?? "" };
    rmSync(directory, { recursive: true });
    expect(value(verifyFolder(directory, head))).toMatchObject({
      ok: false,
      records: 0,
      completeness: "truncated",
      problems: [{ sequence: 1, what: `Records 1 to ${LENGTH} are missing.`, fault: "missing" }],
    });
  });

  test("with records that its database does not have is not ok", () => {
    const head = { sequence: LENGTH - 2, hash: records[LENGTH - 3]?.hash ?? "" };
    expect(value(verifyFolder(directory, head, () => LENGTH - 2))).toMatchObject({
      ok: false,
      integrity: "failed",
      problems: [LENGTH - 1, LENGTH].map((sequence) => ({
        sequence,
        what: `The database does not have it: its last record is ${LENGTH - 2}.`,
        fault: "ahead",
      })),
    });
    // A head alone says nothing about later records.
    expect(value(verifyFolder(directory, head)).ok).toBe(true);
  });

  test("that grows while it is read is compared with the database of then", () => {
    rmSync(path(LENGTH));
    const head = { sequence: LENGTH - 2, hash: records[LENGTH - 3]?.hash ?? "" };
    const last = () => {
      write(records.slice(-1));
      return LENGTH;
    };
    expect(value(verifyFolder(directory, head, last))).toMatchObject({ completeness: "open", problems: [] });
    expect(value(verifyFolder(directory, head, last))).toMatchObject({ ok: true, records: LENGTH });
  });

  test("may hold events.log, .publishing and directories", () => {
    mkdirSync(join(directory, "raw"));
    writeFileSync(join(directory, ".publishing"), "{");
    expect(value(verifyFolder(directory)).ok).toBe(true);
  });

  test("with more than 999,999 records is read in numeric order", () => {
    const [record] = records as [SealedRecord];
    for (const sequence of [1_000_001, 999_999, 1_000_000]) {
      writeFileSync(join(directory, `${sequence}-report.json`), record.line);
    }
    const files = value(listFolder(directory)).files.map((file) => file.sequence);
    expect(files).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 999_999, 1_000_000, 1_000_001]);
  });

  test("that is missing or is a file is a failure", () => {
    expect(failureOf(verifyFolder(join(directory, "none"))).code).toBe("not_found");
    expect(failureOf(verifyFolder(path(1))).code).toBe("storage");
  });

  test("is read record by record", () => {
    const read = [...readFolder(directory, value(listFolder(directory)))];
    expect(read.map((file) => file.bytes?.toString())).toEqual(records.map((record) => record.line));
    expect(read[0]).toMatchObject({ name: "000001-session_opened.json", sequence: 1, payload_type: "session_opened" });
  });
});

describe("tampering is found:", () => {
  const attacks: [string, number | null, () => void][] = [
    ["a word changed", 4, () => edit(4, (line) => line.replace("done", "DONE"))],
    ["a time changed", 4, () => edit(4, (line) => line.replace("00.250Z", "00.251Z"))],
    ["an effect removed", 4, () => edit(4, (line) => line.replace(/"effects":\[.*?\],/, ""))],
    ["a field added", 4, () => edit(4, (line) => line.replace('"version"', '"verify":true,"version"'))],
    ["a key given twice", 4, () => edit(4, (line) => line.replace('"version"', '"version":"0","version"'))],
    ["keys in another order", 4, () => edit(4, (line) => swapFirstKeys(line))],
    ["white space added", 4, () => edit(4, (line) => line.replace(",", ", "))],
    ["the line end removed", 4, () => edit(4, (line) => line.trimEnd())],
    ["a line end added", 4, () => edit(4, (line) => `${line}\n`)],
    ["a byte order mark added", 4, () => edit(4, (line) => `\ufeff${line}`)],
    ["a second record added to the file", 4, () => edit(4, (line) => line + line)],
    ["a character written as an escape", 4, () => edit(4, (line) => line.replace("done", "\\u0064one"))],
    ["a number written otherwise", 4, () => edit(4, (line) => line.replace('"sequence":4', '"sequence":4.0'))],
    [
      "a byte that is not UTF-8",
      4,
      () => writeFileSync(path(4), Buffer.from(readFileSync(path(4), "latin1").replace("done", "don\xe9"), "latin1")),
    ],
    ["the hash changed", 4, () => edit(4, (line) => line.replace(/"hash":"sha256:./, '"hash":"sha256:x'))],
    ["the hash removed", 4, () => edit(4, (line) => line.replace(/"hash":"[^"]*",/, ""))],
    ["the content emptied", 4, () => writeFileSync(path(4), "")],
    ["the content replaced by null", 4, () => writeFileSync(path(4), "null\n")],
    [
      "nesting deeper than any record",
      4,
      () =>
        edit(4, (line) => line.replace('"payload":{', `"payload":{"deep":${"[".repeat(50_000)}${"]".repeat(50_000)},`)),
    ],
    ["a record replaced by a new one", 5, () => forge(4, records[2]?.hash ?? "")],
    ["the last record replaced, unlike the known head", 8, () => forgeLast()],
    ["a record of another session", 4, () => writeFileSync(path(4), otherSession().line)],
    ["a record deleted", 4, () => rmSync(path(4))],
    ["the first record deleted", 1, () => rmSync(path(1))],
    ["two records swapped", 4, () => exchange(4, 5)],
    ["a record copied to another number", 9, () => copyFileSync(path(4), join(directory, "000009-report.json"))],
    ["a record inserted beside another", 4, () => copyFileSync(path(4), join(directory, "000004-review.json"))],
    ["a record renamed to another type", 4, () => renameSync(path(4), join(directory, "000004-review.json"))],
    ["a record given more digits", null, () => renameSync(path(4), join(directory, "0000004-report.json"))],
    ["a record hidden in a directory", 4, () => hideInDirectory(4)],
    ["a record replaced by a link", null, () => replaceByLink(4)],
    ["a foreign file", null, () => writeFileSync(join(directory, "notes.txt"), "")],
    ["a record for number zero", null, () => copyFileSync(path(4), join(directory, "000000-report.json"))],
    ["another beginning", 1, () => rewriteWithoutOpening()],
  ];

  test.each(attacks)("%s", (_what, sequence, attack) => {
    attack();
    const found = value(verifyFolder(directory, { sequence: LENGTH, hash: records.at(-1)?.hash ?? "" }));
    expect(found).toMatchObject({ ok: false, integrity: "failed" });
    expect(found.problems.map((problem) => problem.sequence)).toContain(sequence);
  });

  test("the end cut off, if the head is known", () => {
    for (const sequence of [6, 7, 8]) rmSync(path(sequence));
    const head = { sequence: LENGTH, hash: records.at(-1)?.hash ?? "" };
    const problem = { sequence: 6, what: "Records 6 to 8 are missing." };
    expect(value(verifyFolder(directory, head))).toMatchObject({
      ok: false,
      completeness: "truncated",
      problems: [problem],
    });
  });

  test("each of 1,000 changed bytes, at its record", () => {
    const random = generator(20_260_101);
    const names = value(listFolder(directory)).files;
    const missed: unknown[] = [];
    for (let round = 0; round < 1_000; round++) {
      const file = names[random(names.length)] as (typeof names)[number];
      const bytes = readFileSync(join(directory, file.name));
      const changed = Buffer.from(bytes);
      const at = random(bytes.length);
      changed[at] = (bytes.readUInt8(at) + 1 + random(255)) % 256;
      writeFileSync(join(directory, file.name), changed);
      const { ok, integrity, problems } = value(verifyFolder(directory));
      const named = problems.some((problem) => problem.sequence === file.sequence);
      if (ok || integrity !== "failed" || !named) missed.push({ file: file.name, at, to: changed[at] });
      writeFileSync(join(directory, file.name), bytes);
    }
    expect(missed).toEqual([]);
    expect(value(verifyFolder(directory)).ok).toBe(true);
  });
});

describe("a record is refused without a field that every record has:", () => {
  const effect = { ticket_id: "T-4", from: null, to: "done", event: "created" };
  const lacks: [string, object][] = [
    ...["session_id", "timestamp", "source", "target", "payload_type", "version"].map((key): [string, object] => [
      `no ${key}`,
      { [key]: 4 },
    ]),
    ...["payload", "record", "integrity"].flatMap((key): [string, object][] => [
      [`${key} that is null`, { [key]: null }],
      [`${key} that is a list`, { [key]: [] }],
    ]),
    ...["sequence", "previous", "hash"].map((key): [string, object] => [`no ${key}`, { integrity: { [key]: null } }]),
    ["no kind", { record: { kind: null } }],
    ["no disposition", { record: { disposition: 1 } }],
    ["no time", { record: { received_at: 4 } }],
    ["an invalid time", { record: { received_at: "today" } }],
    ["a ticket that is a number", { record: { ticket_id: 4 } }],
    ["a turn that is null", { record: { turn_id: null } }],
    ["effects that are a string", { record: { effects: "done" } }],
    ["an effect that is null", { record: { effects: [effect, null] } }],
    ["an effect without a ticket", { record: { effects: [{ ...effect, ticket_id: 4 }] } }],
    ["an effect without a target state", { record: { effects: [{ ...effect, to: null }] } }],
    ["an effect from a number", { record: { effects: [{ ...effect, from: 4 }] } }],
  ];

  test.each(lacks)("%s", (_what, change) => {
    edit(4, (line) => `${canonicalJson(merged(JSON.parse(line) as JsonObject, change as JsonObject))}\n`);
    expect(value(verifyFolder(directory)).problems).toEqual([
      { sequence: 4, what: "It is not a record: not JSON, or without what every record has.", fault: "changed" },
    ]);
  });
});

test("a record that does not fit its schema is found if the session was begun with the schemas of this version", () => {
  const opened = unsealed(1).payload;
  for (const [digest, problems] of [
    [SCHEMAS_DIGEST, [{ sequence: 4, fault: "changed" }]],
    ["sha256:of-an-older-version", []],
  ] as const) {
    rmSync(directory, { recursive: true });
    const payloads: Record<number, JsonObject> = { 1: { ...opened, schemas: { digest } }, 4: { status: "nonsense" } };
    write(chain(LENGTH, (sequence) => (payloads[sequence] ? { payload: payloads[sequence] } : {})));
    expect(value(verifyFolder(directory)).problems).toMatchObject(problems);
    expect(value(verifyFolder(directory)).problems).toHaveLength(problems.length);
  }
});

test("one changed record is one problem", () => {
  edit(3, (line) => line.replace("done", "DONE"));
  expect(value(verifyFolder(directory)).problems).toEqual([
    { sequence: 3, what: "Its content does not have the hash it carries.", fault: "changed" },
  ]);
});

test("a file larger than any record is not read", () => {
  truncateSync(path(4), MAX_RECORD_BYTES + 1);
  expect(value(verifyFolder(directory)).problems).toEqual([
    { sequence: 4, what: "The file cannot be read, or is larger than any record.", fault: "changed" },
  ]);
});

test("reports the second of two records with one number", () => {
  const other = unsealed(4, { payload_type: "review" });
  const line = seal(other, { sequence: 4, previous: records[2]?.hash ?? "" }).line;
  writeFileSync(join(directory, "000004-review.json"), line);
  expect(value(verifyFolder(directory)).problems).toEqual([
    { sequence: 4, what: "Record 4 is there more than once: 000004-review.json is another.", fault: "foreign" },
  ]);
});

test("lists 100 problems and counts the rest", () => {
  for (let each = 0; each < MAX_PROBLEMS + 20; each++) writeFileSync(join(directory, `x${each}`), "");
  const { problems } = value(verifyFolder(directory));
  expect(problems).toHaveLength(MAX_PROBLEMS + 1);
  expect(problems.at(-1)?.what).toBe("And 20 more problems.");
});

/** The record with a change merged in; objects one level deep are merged, too. */
function merged(record: JsonObject, change: JsonObject): JsonObject {
  const changed = Object.entries(change).map(([key, next]) => {
    const isPart = typeof next === "object" && next !== null && !Array.isArray(next);
    return [key, isPart ? Object.assign({}, record[key], next) : next];
  });
  return { ...record, ...Object.fromEntries(changed) } as JsonObject;
}

function swapFirstKeys(line: string): string {
  const { integrity, ...rest } = JSON.parse(line) as LogRecord;
  return `${JSON.stringify({ ...rest, integrity })}\n`;
}

function forgeLast(): void {
  const previous = records[LENGTH - 2]?.hash ?? "";
  const record = unsealed(LENGTH, { payload_type: "session_closed", payload: { outcome: "failed", exit_code: 1 } });
  writeFileSync(path(LENGTH), seal(record, { sequence: LENGTH, previous }).line);
}

function otherSession(): SealedRecord {
  return chain(4, () => ({ session_id: "s2" }))[3] as SealedRecord;
}

function exchange(one: number, other: number): void {
  const [first, second] = [readFileSync(path(one)), readFileSync(path(other))];
  writeFileSync(path(one), second);
  writeFileSync(path(other), first);
}

function hideInDirectory(sequence: number): void {
  const hidden = path(sequence);
  rmSync(hidden);
  mkdirSync(hidden);
}

function replaceByLink(sequence: number): void {
  const linked = path(sequence);
  const elsewhere = join(directory, "..", "elsewhere.json");
  renameSync(linked, elsewhere);
  symlinkSync(elsewhere, linked);
}

/** A valid chain that does not begin with session_opened. */
function rewriteWithoutOpening(): void {
  for (const name of readdirSync(directory)) rmSync(join(directory, name));
  let previous = GENESIS;
  for (let sequence = 1; sequence <= LENGTH; sequence++) {
    const record = unsealed(sequence, { payload_type: sequence === LENGTH ? "session_closed" : "report" });
    const sealed = seal(record, { sequence, previous });
    previous = sealed.hash;
    writeFileSync(join(directory, `00000${sequence}-${record.payload_type}.json`), sealed.line);
  }
}

/** The same numbers every time: xorshift, from 0 to below the limit. */
function generator(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % limit;
  };
}
