import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { outputOn, processTerminal } from "../../src/ui/terminal.ts";

describe("an output that cannot be written", () => {
  it.each([
    ["EPIPE", false, undefined],
    ["EIO", true, undefined],
    ["EIO", false, "EIO: write"],
    ["ENOSPC", false, "ENOSPC: write"],
  ])("for %s, of a terminal: %s, has lost %s", (code, isTTY, lost) => {
    const stream = Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.WriteStream;
    const output = outputOn(stream);
    stream.emit("error", Object.assign(new Error(`${code}: write`), { code }));
    expect([output.lost, output.ended.aborted]).toEqual([lost, true]);
  });
});

describe("an alert", () => {
  const written = (isTTY: boolean, isDumb: boolean) => {
    const stream = Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.WriteStream;
    outputOn(stream, { prompts: [], isDumb }).alert("Bosun: s-1 needs you.");
    return String(stream.read() ?? "");
  };

  it("rings the bell and notifies the desktop, as far as the terminal can", () => {
    expect(written(true, false)).toBe("\u0007\u001b]9;Bosun: s-1 needs you.\u0007");
    expect(written(true, true)).toBe("\u0007");
    expect(written(false, false)).toBe("");
  });
});

describe("the terminal of this process", () => {
  it.each([
    [{ TERM: "xterm" }, false, false],
    [{ TERM: "dumb" }, true, false],
    [{ TERM: "" }, true, false],
    [{}, true, false],
    [{ TERM: "xterm", SSH_TTY: "/dev/pts/1" }, false, true],
    [{ TERM: "xterm", SSH_CONNECTION: "::1 1 ::1 22" }, false, true],
  ])("by %j is dumb: %s, and remote: %s", (environment, isDumb, isRemote) => {
    expect(processTerminal(environment)).toMatchObject({ isDumb, isRemote });
  });
});
