import {
  appendFileSync,
  closeSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { err, ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { type Failure, failure, isOfStorage } from "../../protocol/failure.ts";

/** Length of the beginning of a file in which a report has its mark, in bytes. */
const BEGINNING = 1_024;

/** Whether a report may be written to a path: nothing or an earlier report is there, or the user forces it. */
export function mayWrite(path: string, marks: readonly string[], force: boolean): Result<void, Failure> {
  return onFile(path, () => checked(path, marks, force));
}

function checked(path: string, marks: readonly string[], force: boolean): Result<void, Failure> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return ok(undefined);
  if (!stat.isFile()) {
    return err(failure("usage", `${path} is not a file.`, { hint: "Name a file for the report." }));
  }
  if (force || marks.some((mark) => beginningOf(path).includes(mark))) return ok(undefined);
  return err(
    failure("usage", `${path} exists and is not a Bosun report.`, {
      hint: "Name another file, or add --force to replace it.",
    }),
  );
}

/** Writes a file completely or not at all. Fails with `storage`, `storage_full`. */
export function writeWhole(path: string, parts: Iterable<string>): Result<void, Failure> {
  return onFile(path, () => {
    // A symbolic link stays, and its target is replaced.
    const target = statSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync(path);
    const partial = `${target}.${process.pid}.tmp`;
    const file = openSync(partial, "wx");
    try {
      for (const part of parts) appendFileSync(file, part);
      fsyncSync(file);
      renameSync(partial, target);
    } finally {
      closeSync(file);
      rmSync(partial, { force: true });
    }
    return ok(undefined);
  });
}

/** Runs work on a report's file. A system error becomes a failure. */
function onFile(path: string, work: () => Result<void, Failure>): Result<void, Failure> {
  const done = attempt(path, work, "The report");
  if (done.ok || !isOfStorage(done.error)) return done;
  return err({
    ...done.error,
    hint: "Name a file in a folder that exists, that you may write to, and that has space.",
  });
}

function beginningOf(path: string): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(BEGINNING);
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, BEGINNING, 0));
  } finally {
    closeSync(file);
  }
}
