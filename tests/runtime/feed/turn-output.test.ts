import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { TurnOutput } from "../../../src/runtime/feed/turn-output.ts";

function followed(fromNow = false) {
  const folder = mkdtempSync(join(tmpdir(), "bosun-output-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (text: string | Buffer) => appendFileSync(join(folder, "t1.2.stdout.log"), text);
  return { write, follow: () => new TurnOutput(folder, { turn_id: "t1", run: 2 }, fromNow) };
}

const said = (...texts: string[]) => texts.map((text) => ({ stream: "stdout", text }));

it("tells whole lines of a file that appears late", () => {
  const { write, follow } = followed();
  const output = follow();
  expect(output.read()).toEqual([]);
  write("one\ntw");
  expect(output.read()).toEqual(said("one"));
  write("o\n");
  expect(output.read()).toEqual(said("two"));
  expect(output.read(true)).toEqual([]);
});

it("tells characters whole that are written in parts", () => {
  const { write, follow } = followed();
  const output = follow();
  const [first, second] = [Buffer.from("ü\n").subarray(0, 1), Buffer.from("ü\n").subarray(1)];
  write(first);
  expect(output.read()).toEqual([]);
  write(second);
  expect(output.read()).toEqual(said("ü"));
});

it("tells a last line without its end when the turn has ended", () => {
  const { write, follow } = followed();
  const output = follow();
  write("half");
  expect(output.read()).toEqual([]);
  expect(output.read(true)).toEqual(said("half"));
});

it("reads at most 64 KiB of a file at one look, and the rest later", () => {
  const { write, follow } = followed();
  const output = follow();
  const line = "x".repeat(999);
  write(`${line}\n`.repeat(100));
  expect(output.read()).toHaveLength(65);
  expect(output.read()).toHaveLength(35);
});

it("skips output printed before it subscribed", () => {
  const { write, follow } = followed(true);
  write("before\n");
  const output = follow();
  write("after\n");
  expect(output.read()).toEqual(said("after"));
});
