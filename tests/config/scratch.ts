import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import type { Result } from "../../src/lib/result.ts";
import type { Failure } from "../../src/protocol/failure.ts";

/** A directory for one test; messages name it `~`. */
export interface Scratch {
  readonly directory: string;
  /** Writes a file, with the folders above it, and gives its path. */
  write(name: string, content: string | Uint8Array): string;
  /** Text with the directory's path taken out, for comparing. */
  plain(text: string): string;
}

/** Makes a directory that is gone after the test. */
export function scratch(): Scratch {
  const directory = mkdtempSync(join(tmpdir(), "bosun-config-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return {
    directory,
    write(name, content) {
      const file = join(directory, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      return file;
    },
    plain: (text) => text.replaceAll(directory, "~"),
  };
}

/** The value of a result that must be one. */
export function valueOf<T>(result: Result<T, unknown>): T {
  if (result.ok) return result.value;
  throw new Error(`expected a value, got ${JSON.stringify(result.error)}`);
}

/** The error of a result that must be one. */
export function errorOf<E>(result: Result<unknown, E>): E {
  if (!result.ok) return result.error;
  throw new Error(`expected an error, got ${JSON.stringify(result.value)}`);
}

/** The problems of a failure `configuration`, or `not_found` for a missing file: the position as `line:column`, else the file's name, and everything said. */
export function problemsOf({ code, details }: Failure): [where: string, said: string][] {
  if (code !== "configuration" && code !== "not_found")
    throw new Error(`expected a failure of configuration, got ${code}`);
  return ((details?.["problems"] ?? []) as { [key: string]: string | number }[]).map(
    ({ file, line, column, what, expected = "", nearest = "" }) => [
      line === undefined ? basename(String(file)) : `${line}:${column}`,
      `${what} ${expected} ${nearest}`,
    ],
  );
}
