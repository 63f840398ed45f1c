import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { nearest } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { Problem } from "../protocol/document/problem.ts";
import { decodeText } from "../protocol/document/source-text.ts";

/**
 * Reads a UTF-8 file that a person wrote. Drops a byte order mark, and keeps line ends as they are. A file that is missing, a directory, a pipe or
 * device, unreadable, over `limit_bytes`, binary or in another encoding returns a problem that says so.
 */
export function readText(file: string, limit_bytes: number): Result<string, Problem> {
  const bytes = readBytes(file, limit_bytes);
  return bytes.ok ? decodeText(file, bytes.value) : bytes;
}

function readBytes(file: string, limit_bytes: number): Result<Uint8Array, Problem> {
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe that has no writer would wait forever.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return wrong(file, "this is a directory", "a file");
    if (!stat.isFile()) return wrong(file, "this is not an ordinary file", "an ordinary file");
    if (stat.size > limit_bytes) {
      return wrong(file, `the file has ${counted(stat.size)}`, `at most ${counted(limit_bytes)}`);
    }
    return ok(readFileSync(descriptor));
  } catch (error) {
    return unreadable(file, error);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function unreadable(file: string, error: unknown): Result<never, Problem> {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  switch (code) {
    case "ENOENT": {
      if (lstatSync(file, { throwIfNoEntry: false })) return missing(file, "this symbolic link has no target");
      return missing(file, "there is no such file", nearestNeighbour(file));
    }
    case "ENOTDIR":
      return missing(file, "there is no such file: a part of its path is not a directory");
    case "EACCES":
    case "EPERM":
      return wrong(file, "you have no permission to read this file");
    case "ELOOP":
      return wrong(file, "the symbolic links form a cycle");
    default:
      return wrong(file, `the file cannot be read (${code})`);
  }
}

function nearestNeighbour(file: string): string | undefined {
  try {
    return nearest(basename(file), readdirSync(dirname(file)));
  } catch {
    return undefined;
  }
}

function missing(file: string, what: string, near?: string): Result<never, Problem> {
  return err({ file, pointer: "", what, nearest: near, missing: true });
}

function wrong(file: string, what: string, expected?: string): Result<never, Problem> {
  return err({ file, pointer: "", what, expected });
}

function counted(bytes: number): string {
  return `${bytes.toLocaleString("en")} bytes`;
}
