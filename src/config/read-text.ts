import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { basename, dirname } from "node:path";
import { nearest } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { Problem } from "../protocol/document/problem.ts";
import { decodeText } from "../protocol/document/source-text.ts";

/** How long a pipe may have no writer before it is refused, and how often to look at a pipe, in ms. */
const WRITER_WITHIN_MS = 3_000;
const LOOK_EVERY_MS = 10;

/** A file that was read before, of which only these bytes count. */
export interface ReadFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** Where a text comes from: the name of a file that is read now, or a file that was read before. */
export type TextSource = string | ReadFile;

/**
 * Reads UTF-8 text that a person wrote, from a file, a pipe as `<(command)` gives, a device, or `-`, standard input. Drops a byte order mark, and keeps
 * line ends as they are. What is missing, a directory, unreadable, over `limit_bytes`, binary or in another encoding returns a problem that says so.
 */
export function readText(source: TextSource, limit_bytes: number): Result<string, Problem> {
  const bytes = readBytes(source, limit_bytes);
  return bytes.ok ? decodeText(shownName(source), bytes.value) : bytes;
}

/** The path of a source. */
export function pathOf(source: TextSource): string {
  return typeof source === "string" ? source : source.path;
}

/** The name of a source in messages. */
export function shownName(source: TextSource): string {
  const path = pathOf(source);
  return path === "-" ? "standard input" : path;
}

function readBytes(file: TextSource, limit_bytes: number): Result<Uint8Array, Problem> {
  if (typeof file !== "string")
    return file.bytes.length > limit_bytes ? tooLong(file.path, limit_bytes) : ok(file.bytes);
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a named pipe that has no writer would wait forever.
    descriptor = file === "-" ? 0 : openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return wrong(file, "this is a directory", "a file");
    if (stat.size > limit_bytes) {
      return wrong(file, `the file has ${counted(stat.size)}`, `at most ${counted(limit_bytes)}`);
    }
    const bytes = stat.isFile() ? readFileSync(descriptor) : streamed(descriptor, limit_bytes, stat.isFIFO());
    if (bytes === undefined) return wrong(file, "nothing writes into this pipe", "a file, or a pipe with a writer");
    return bytes.length > limit_bytes ? tooLong(file, limit_bytes) : ok(bytes);
  } catch (error) {
    return unreadable(file, error);
  } finally {
    if (descriptor !== undefined && descriptor !== 0) closeSync(descriptor);
  }
}

/** All that comes before the end, or a little more than `most` bytes. Undefined for a pipe that nobody opens for writing. */
function streamed(descriptor: number, most: number, isPipe: boolean): Buffer | undefined {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let hasWriter = !isPipe;
  const until = performance.now() + WRITER_WITHIN_MS;
  while (bytes <= most) {
    const chunk = readNow(descriptor);
    if (chunk !== undefined && chunk.length > 0) {
      chunks.push(chunk);
      bytes += chunk.length;
      continue;
    }
    // The end, unless no writer has come yet.
    hasWriter ||= bytes > 0 || chunk === undefined;
    if (chunk !== undefined && hasWriter) break;
    if (!hasWriter && performance.now() > until) return undefined;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
  }
  return Buffer.concat(chunks);
}

/** What can be read now; nothing at the end, undefined if more may come. */
function readNow(descriptor: number): Buffer | undefined {
  const chunk = Buffer.allocUnsafe(65_536);
  try {
    return chunk.subarray(0, readSync(descriptor, chunk));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EAGAIN") return undefined;
    throw error;
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
  return err({ file: shownName(file), pointer: "", what, expected });
}

function tooLong(file: string, limit_bytes: number): Result<never, Problem> {
  return wrong(file, "the text is too long", `at most ${counted(limit_bytes)}`);
}

function counted(bytes: number): string {
  return `${bytes.toLocaleString("en")} bytes`;
}
