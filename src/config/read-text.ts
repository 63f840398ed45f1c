import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { nearest } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { places, type Problem } from "./problem.ts";

/**
 * The text of a UTF-8 file a person wrote, without a byte order mark, line ends as they are. A file that is missing, a
 * directory, a pipe or device, unreadable, over `limit_bytes`, binary or in another encoding each gives a problem that says so.
 */
export function readText(file: string, limit_bytes: number): Result<string, Problem> {
  const bytes = readBytes(file, limit_bytes);
  return bytes.ok ? decodeText(file, bytes.value) : bytes;
}

/** The same for bytes that came some other way; `file` is what the messages call them. */
export function decodeText(file: string, bytes: Uint8Array): Result<string, Problem> {
  if (startsWith(bytes, [0xff, 0xfe]) || startsWith(bytes, [0xfe, 0xff])) {
    return wrong(file, "it is written in UTF-16", "UTF-8 text (save it again with that encoding)");
  }
  const zero = bytes.indexOf(0);
  if (zero !== -1) return wrong(file, `it is not text: byte ${zero + 1} is zero`, "UTF-8 text");
  try {
    return ok(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    const readable = new TextDecoder("utf-8", { ignoreBOM: false }).decode(bytes);
    const place = places(readable)(readable.indexOf("\ufffd"));
    return err({ file, place, pointer: "", what: "there is a byte that is not UTF-8", expected: "UTF-8 text" });
  }
}

/** The bytes of an ordinary file, with the same problems but those of its text. */
function readBytes(file: string, limit_bytes: number): Result<Uint8Array, Problem> {
  let descriptor: number | undefined;
  try {
    // Not blocking: opening a named pipe that nobody writes to would otherwise wait for ever.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = fstatSync(descriptor);
    if (stat.isDirectory()) return wrong(file, "it is a directory", "a file");
    if (!stat.isFile()) return wrong(file, "it is not an ordinary file", "an ordinary file");
    if (stat.size > limit_bytes) {
      return wrong(file, `it is too large, ${counted(stat.size)}`, `at most ${counted(limit_bytes)}`);
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
      if (lstatSync(file, { throwIfNoEntry: false }))
        return wrong(file, "it is a symbolic link to a file that is not there");
      return err({ file, pointer: "", what: "there is no such file", nearest: nearestNeighbour(file) });
    }
    case "ENOTDIR":
      return wrong(file, "there is no such file: a part of its path is not a directory");
    case "EACCES":
    case "EPERM":
      return wrong(file, "you may not read it", "a file you have the right to read");
    case "ELOOP":
      return wrong(file, "its symbolic links go round in a circle");
    default:
      return wrong(file, `it cannot be read (${code})`);
  }
}

function nearestNeighbour(file: string): string | undefined {
  try {
    return nearest(basename(file), readdirSync(dirname(file)));
  } catch {
    return undefined;
  }
}

function wrong(file: string, what: string, expected?: string): Result<never, Problem> {
  return err({ file, pointer: "", what, expected });
}

function startsWith(bytes: Uint8Array, prefix: readonly number[]): boolean {
  return prefix.every((byte, index) => bytes[index] === byte);
}

function counted(bytes: number): string {
  return `${bytes.toLocaleString("en")} bytes`;
}
