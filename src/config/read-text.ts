import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";
import { basename, dirname } from "node:path";
import { nearest } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { Problem } from "../protocol/document/problem.ts";
import { decodeText } from "../protocol/document/source-text.ts";

/** How often to look at a pipe whose writer is slow, in ms. */
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

export function pathOf(source: TextSource): string {
  return typeof source === "string" ? source : source.path;
}

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
    if (stat.isDirectory())
      return err({ file, pointer: "", what: "this is a directory", expected: "a file", missing: true });
    if (stat.size > limit_bytes) return tooLong(file, limit_bytes);
    const bytes = stat.isFile() ? readFileSync(descriptor) : streamed(descriptor, limit_bytes);
    return bytes.length > limit_bytes ? tooLong(file, limit_bytes) : ok(bytes);
  } catch (error) {
    return unreadable(file, error);
  } finally {
    if (descriptor !== undefined && descriptor !== 0) closeSync(descriptor);
  }
}

/** All that comes before the end, or a little more than `most` bytes. */
function streamed(descriptor: number, most: number): Buffer {
  const chunks: Buffer[] = [];
  for (let bytes = 0; bytes <= most; ) {
    const chunk = readNow(descriptor);
    if (chunk?.length === 0) break;
    if (chunk === undefined) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_EVERY_MS);
    else chunks.push(chunk);
    bytes += chunk?.length ?? 0;
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
  if (code !== "ENOENT" && code !== "ENOTDIR") return wrong(file, `the file cannot be read (${code})`);
  const what = "there is no such file";
  return err({ file, pointer: "", what, nearest: nearestNeighbour(file), missing: true });
}

function nearestNeighbour(file: string): string | undefined {
  try {
    return nearest(basename(file), readdirSync(dirname(file)));
  } catch {
    return undefined;
  }
}

function wrong(file: string, what: string, expected?: string): Result<never, Problem> {
  return err({ file: shownName(file), pointer: "", what, expected });
}

function tooLong(file: string, limit_bytes: number): Result<never, Problem> {
  return wrong(file, "the text is too long", `at most ${limit_bytes.toLocaleString("en")} bytes`);
}
