import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { seal } from "../../src/log/chain.ts";
import { recordName } from "../../src/log/reader.ts";
import { MAX_PROBLEMS } from "../../src/log/verify.ts";
import { GENESIS, type UnsealedRecord } from "../../src/protocol/record.ts";
import { recordOf } from "../../src/protocol/recording.ts";
import { artifactProblems } from "../../src/runtime/kept-files.ts";
import { type SessionPaths, sessionPaths } from "../../src/runtime/paths.ts";

/** More than is read at once. */
const BYTES = Buffer.alloc(3_000_000, "abc");

let home: string;
let paths: SessionPaths;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "bosun-kept-"));
  paths = sessionPaths(home, "s");
  mkdirSync(paths.log, { recursive: true });
  mkdirSync(paths.artifacts, { recursive: true });
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function digestOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A record of an artifact, as the scheduler writes it. */
function recorded(sequence: number, payload: JsonObject, disposition: "applied" | "late" = "applied"): void {
  const record: UnsealedRecord = recordOf({
    session_id: "s",
    at: "2026-01-01T00:00:00.000Z",
    source: "worker",
    target: "scheduler",
    payload_type: "artifact_ref",
    payload,
    kind: "fact",
    disposition,
  });
  const { line } = seal(record, { sequence, previous: GENESIS });
  writeFileSync(join(paths.log, recordName(sequence, "artifact_ref")), line);
}

/** Keeps a file as the scheduler does, and gives its path. */
function keep(sequence: number, name: string, bytes = BYTES): string {
  const hex = digestOf(bytes);
  const path = join(paths.artifacts, `${hex.slice(0, 16)}-${name}`);
  writeFileSync(path, bytes);
  const uri = pathToFileURL(path).href;
  recorded(sequence, { label: name, uri, digest: `sha256:${hex}`, size_bytes: bytes.length });
  return path;
}

describe("kept files", () => {
  it("pass if they match; references elsewhere and refused ones are skipped", () => {
    keep(2, "large");
    keep(3, "empty", Buffer.alloc(0));
    recorded(4, { label: "page", uri: "https://example.org/page" });
    recorded(5, { label: "late", uri: "late.txt", digest: "sha256:00", size_bytes: 1 }, "late");
    recorded(6, { label: "late", uri: "file:///late.txt" }, "late");
    expect(artifactProblems(paths)).toEqual([]);
  });

  it("are found in a moved home", () => {
    keep(2, "large");
    const moved = `${home}-moved`;
    renameSync(home, moved);
    try {
      expect(artifactProblems(sessionPaths(moved, "s"))).toEqual([]);
    } finally {
      renameSync(moved, home);
    }
  });

  it.each<readonly [string, (path: string) => void, string]>([
    [
      "have another byte",
      (path) => {
        const bytes = readFileSync(path);
        bytes[2_999_999] = 0;
        writeFileSync(path, bytes);
      },
      "its digest is sha256:",
    ],
    ["are shorter", (path) => truncateSync(path, 5), "it has 5 bytes, not 3000000"],
    ["are gone", (path) => rmSync(path), "it does not exist"],
    [
      "are a directory",
      (path) => {
        rmSync(path);
        mkdirSync(path);
      },
      "it is not a plain file",
    ],
    [
      "are a link to the original",
      (path) => {
        renameSync(path, join(home, "elsewhere"));
        symlinkSync(join(home, "elsewhere"), path);
      },
      "it cannot be read (ELOOP)",
    ],
    // Whoever read it would read for hours.
    ["have grown to terabytes", (path) => truncateSync(path, 2 ** 43), `it has ${2 ** 43} bytes, not 3000000`],
  ])("are reported with their record if they %s", (_how, change, why) => {
    keep(2, "whole", Buffer.from("whole"));
    const path = keep(3, "large");
    change(path);
    const [problem, ...others] = artifactProblems(paths);
    expect(others).toEqual([]);
    expect(problem?.sequence).toBe(3);
    expect(problem?.what).toContain(`The kept file ${path} is not the one in this record: ${why}`);
  });

  it("are reported without blocking if they are a pipe", () => {
    const path = keep(2, "pipe");
    rmSync(path);
    execFileSync("mkfifo", [path]);
    const writer = openSync(path, constants.O_RDWR);
    expect(artifactProblems(paths)).toMatchObject([
      { sequence: 2, what: expect.stringContaining("not a plain file") as string },
    ]);
    closeSync(writer);
  });

  it("are not read if they exceed the largest artifact", () => {
    const path = keep(2, "whole", Buffer.from("whole"));
    truncateSync(path, 2 ** 43);
    recorded(3, { label: "whole", uri: pathToFileURL(path).href, digest: "sha256:00", size_bytes: 2 ** 43 });
    expect(artifactProblems(paths).map(({ what }) => what)).toEqual([
      expect.stringContaining(`it has ${2 ** 43} bytes, not 5`),
      expect.stringContaining("it is larger than"),
    ]);
  });

  it("are reported for each record, up to a maximum of problems", () => {
    const small = Buffer.from("small");
    rmSync(keep(2, "twice", small));
    rmSync(keep(3, "twice", small));
    expect(artifactProblems(paths).map(({ sequence }) => sequence)).toEqual([2, 3]);
    for (let sequence = 4; sequence < 4 + MAX_PROBLEMS; sequence += 1) rmSync(keep(sequence, "twice", small));
    const problems = artifactProblems(paths);
    expect(problems).toHaveLength(MAX_PROBLEMS + 1);
    expect(problems.at(-1)).toEqual({ sequence: null, what: "And 2 more problems." });
  });
});
