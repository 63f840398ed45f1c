import { spawnSync } from "node:child_process";
import { chmodSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadDocument } from "../../src/config/document.ts";
import { explain } from "../../src/config/problem.ts";
import { errorOf, type Scratch, scratch, valueOf } from "./scratch.ts";

const LIMIT = 1024 * 1024;

function told(place: Scratch, file: string, limit = LIMIT): string {
  return place.plain(`\n${explain(errorOf(loadDocument(file, limit))).join("\n")}\n`);
}

describe("a file that cannot be read says why", () => {
  test("missing, with a neighbour of nearly that name", () => {
    const place = scratch();
    place.write("plan.yml", "tasks: []");
    expect(told(place, join(place.directory, "plan.yaml"))).toMatchInlineSnapshot(`
      "
      ~/plan.yaml: there is no such file; did you mean "plan.yml"?
      "
    `);
    expect(told(place, join(place.directory, "other.json"))).toMatchInlineSnapshot(`
      "
      ~/other.json: there is no such file
      "
    `);
  });
  test("a link to nothing", () => {
    const place = scratch();
    const link = join(place.directory, "plan.yaml");
    symlinkSync(join(place.directory, "gone.yaml"), link);
    expect(told(place, link)).toMatchInlineSnapshot(`
      "
      ~/plan.yaml: it is a symbolic link to a file that is not there
      "
    `);
  });
  test("below a file", () => {
    const place = scratch();
    const file = place.write("plan.yml", "tasks: []");
    expect(told(place, join(file, "more.yaml"))).toMatchInlineSnapshot(`
      "
      ~/plan.yml/more.yaml: there is no such file: a part of its path is not a directory
      "
    `);
  });
  test("a directory", () => {
    const place = scratch();
    expect(told(place, place.directory)).toMatchInlineSnapshot(`
      "
      ~: it is a directory
        expected: a file
      "
    `);
  });
  test("a named pipe, without waiting for a writer", () => {
    const place = scratch();
    const pipe = join(place.directory, "pipe.yaml");
    expect(spawnSync("mkfifo", [pipe]).status).toBe(0);
    expect(told(place, pipe)).toMatchInlineSnapshot(`
      "
      ~/pipe.yaml: it is not an ordinary file
        expected: an ordinary file
      "
    `);
  });
  test("links in a circle", () => {
    const place = scratch();
    const link = join(place.directory, "a.yaml");
    symlinkSync(link, link);
    expect(told(place, link)).toMatchInlineSnapshot(`
      "
      ~/a.yaml: its symbolic links go round in a circle
      "
    `);
  });
  test("without the right to read it", () => {
    const place = scratch();
    const file = place.write("secret.yaml", "a: 1");
    chmodSync(file, 0o000);
    // Root may read everything, so it steps down for a moment.
    const root = process.getuid?.() === 0;
    if (root) chmodSync(place.directory, 0o755);
    if (root) process.seteuid?.(65_534);
    try {
      expect(told(place, file)).toMatchInlineSnapshot(`
        "
        ~/secret.yaml: you may not read it
          expected: a file you have the right to read
        "
      `);
    } finally {
      if (root) process.seteuid?.(0);
    }
  });
  test("too large", () => {
    const place = scratch();
    expect(told(place, place.write("a.yaml", "#".repeat(LIMIT + 1)))).toMatchInlineSnapshot(`
      "
      ~/a.yaml: it is too large, 1,048,577 bytes
        expected: at most 1,048,576 bytes
      "
    `);
    expect(told(place, place.write("b.yaml", "#".repeat(2000)), 1000)).toMatchInlineSnapshot(`
      "
      ~/b.yaml: it is too large, 2,000 bytes
        expected: at most 1,000 bytes
      "
    `);
  });
  test("binary", () => {
    const place = scratch();
    expect(told(place, place.write("a.yaml", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 1])))).toMatchInlineSnapshot(`
      "
      ~/a.yaml: it is not text: byte 5 is zero
        expected: UTF-8 text
      "
    `);
  });
  test("in UTF-16", () => {
    const place = scratch();
    expect(told(place, place.write("a.json", Buffer.from("\ufeff{}", "utf16le")))).toMatchInlineSnapshot(`
      "
      ~/a.json: it is written in UTF-16
        expected: UTF-8 text (save it again with that encoding)
      "
    `);
  });
  test("with a byte that is not UTF-8, in its place", () => {
    const place = scratch();
    const bytes = Buffer.concat([Buffer.from("a: 1\nname: Ren"), Buffer.from([0xe9]), Buffer.from("\n")]);
    expect(told(place, place.write("a.yaml", bytes))).toMatchInlineSnapshot(`
      "
      ~/a.yaml:2:10: there is a byte that is not UTF-8
        2 | name: Ren�
          |          ^
        expected: UTF-8 text
      "
    `);
  });
  test("empty", () => {
    const place = scratch();
    expect(told(place, place.write("a.yaml", ""))).toMatchInlineSnapshot(`
      "
      ~/a.yaml: it is empty
        expected: YAML or JSON
      "
    `);
  });
});

test.each(["a.json", "a.yaml"])("a byte order mark before %s does no harm, and does not move the columns", (name) => {
  const place = scratch();
  expect(valueOf(loadDocument(place.write(name, '\ufeff{"a": 1}'), LIMIT)).value).toEqual({ a: 1 });
  const problem = errorOf(loadDocument(place.write(name, '\ufeff{"a" 1]'), LIMIT));
  expect(problem.place).toMatchObject({ line: 1, source: '{"a" 1]' });
});
