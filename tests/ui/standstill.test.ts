import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { discardTyped, promptLine } from "../../src/ui/prompt.ts";
import type { Terminal } from "../../src/ui/terminal.ts";

/** Longer than anything that is waited for between keys, in ms. */
const STANDSTILL_MS = 200;

/** This process does nothing until `over`, and for some time after it. */
function standStill(over: () => boolean): void {
  const nothing = new Int32Array(new SharedArrayBuffer(4));
  while (!over()) Atomics.wait(nothing, 0, 0, 5);
  Atomics.wait(nothing, 0, 0, STANDSTILL_MS);
}

/** A terminal whose keys are what a program in sh prints; it stays open, as a terminal does. */
function typing(script: string): { readonly input: Socket; readonly terminal: Terminal; readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), "bosun-typing-"));
  const child = spawn("sh", ["-c", `${script}\nexec sleep 60`], { cwd: path, stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(async () => {
    if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "exit");
    rmSync(path, { recursive: true });
  });
  const input = child.stdout as Socket;
  const err = { stream: new PassThrough(), line: () => {} };
  return { input, terminal: { input, err, isDumb: true } as unknown as Terminal, path };
}

describe("a process that stood still while a person typed", () => {
  it("throws away what was typed before anything was asked, though it reads that late", async () => {
    const { input, terminal, path } = typing('printf "\\n"; touch typed');
    const discarded = discardTyped(terminal);
    standStill(() => existsSync(join(path, "typed")));
    await discarded;
    expect(input.bytesRead).toBe(1);
  });

  it("takes the lines of a paste as one text, though it reads the last ones late", async () => {
    const { input, terminal, path } = typing(
      'printf "one\\n"; until [ -e read ]; do sleep 0.01; done; printf "two\\n"; touch typed',
    );
    const typed = promptLine(terminal, "> ", new AbortController().signal);
    input.once("data", () => {
      writeFileSync(join(path, "read"), "");
      standStill(() => existsSync(join(path, "typed")));
    });
    expect(await typed).toEqual({ kind: "text", text: "one\ntwo" });
  });
});
