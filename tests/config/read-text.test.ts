import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, openSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadDocument } from "../../src/config/document.ts";
import { readText } from "../../src/config/read-text.ts";
import { errorOf, type Scratch, scratch, valueOf } from "./scratch.ts";

const MIB = 1024 * 1024;

function link(place: Scratch, target: string): string {
  const file = join(place.directory, "link.yaml");
  symlinkSync(join(place.directory, target), file);
  return file;
}

function pipe(place: Scratch): string {
  const file = join(place.directory, "pipe.yaml");
  expect(spawnSync("mkfifo", [file]).status).toBe(0);
  return file;
}

describe("a file is refused with the reason", () => {
  test.each<[of: string, file: (place: Scratch) => string, facts: RegExp]>([
    ["missing, without a neighbour", (place) => join(place.directory, "other.json"), /no such file $/],
    ["missing, with a neighbour", (place) => place.write("plan.yml", "").replace("yml", "yaml"), /file .*plan\.yml$/],
    ["a link to a missing file", (place) => link(place, "gone.yaml"), /no such file/],
    ["a link to itself", (place) => link(place, "link.yaml"), /ELOOP/],
    ["below a file", (place) => join(place.write("plan.yml", ""), "more.yaml"), /no such file/],
    ["a directory", (place) => place.directory, /directory/],
    ["a named pipe without a writer", pipe, /empty/],
    ["an endless device", () => "/dev/zero", /too long.*1,048,576 bytes/],
    ["too large", (place) => place.write("a.yaml", "#".repeat(MIB + 1)), /too long.*1,048,576 bytes/],
    ["binary", (place) => place.write("a.yaml", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 1])), /byte 5/],
    ["UTF-16", (place) => place.write("a.json", Buffer.from("\ufeff{}", "utf16le")), /UTF-16/],
    ["empty", (place) => place.write("a.yaml", ""), /empty/],
  ])("%s", (_, make, facts) => {
    const file = make(scratch());
    const { what, expected = "", nearest = "", ...rest } = errorOf(loadDocument(file));
    expect(rest).toEqual({ file, pointer: "", ...(/no such|a directory/.test(what) ? { missing: true } : {}) });
    expect(`${what} ${expected}${nearest}`).toMatch(facts);
  });
  test("unreadable", () => {
    const place = scratch();
    const file = place.write("secret.yaml", "a: 1");
    chmodSync(file, 0o000);
    // Root may read everything, so it steps down for a moment.
    const root = process.getuid?.() === 0;
    if (root) chmodSync(place.directory, 0o755);
    if (root) process.seteuid?.(65_534);
    try {
      expect(errorOf(loadDocument(file)).what).toContain("EACCES");
    } finally {
      if (root) process.seteuid?.(0);
    }
  });
  test("with a byte that is not UTF-8, at its position", () => {
    const bytes = Buffer.concat([Buffer.from("a: 1\nname: Ren"), Buffer.from([0xe9]), Buffer.from("\n")]);
    const problem = errorOf(readText(scratch().write("a.yaml", bytes), MIB));
    expect(problem).toMatchObject({ position: { line: 2, column: 10, source: "name: Ren\ufffd" } });
    expect(problem.what).toContain("UTF-8");
  });
});

test("a pipe is read to its end, even if its writer is slow", async () => {
  const file = pipe(scratch());
  // Opening it to write waits for a reader.
  const held = openSync(file, "r+");
  const script = `exec 3>"${file}"; echo open; exec >&3; printf 'a: '; sleep 0.1; printf 1; seq -f '#%.0f' 20000`;
  const writer = spawn("sh", ["-c", script]);
  onTestFinished(() => void writer.kill());
  await once(writer.stdout, "data");
  closeSync(held);
  const text = valueOf(readText(file, MIB));
  expect(text).toMatch(/^a: 1#1\n/);
  expect(text).toMatch(/#20000\n$/);
});

test("a byte order mark is dropped and does not move the columns", () => {
  const place = scratch();
  for (const name of ["a.json", "a.yaml"]) {
    expect(valueOf(loadDocument(place.write(name, '\ufeff{"a": 1}'))).value).toEqual({ a: 1 });
    const { position } = errorOf(loadDocument(place.write(name, '\ufeff{"a" 1]')));
    expect(position).toMatchObject({ line: 1, column: 6, source: '{"a" 1]' });
  }
});
