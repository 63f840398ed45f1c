import { type ChildProcess, spawn } from "node:child_process";
import { widthOf } from "../lib/text-layout.ts";
import type { Output } from "./terminal.ts";

/** An output whose lines a person reads in a pager. */
export interface Pager {
  readonly out: Output;
  /** Resolves when the person has left the pager. */
  end(): Promise<void>;
}

/**
 * An output at a terminal that starts a pager, a shell's command, as soon as there are more lines than the screen has rows. Fewer are written to
 * the terminal at the end, without one.
 */
export function pagerAt(out: Output, command: string, environment: NodeJS.ProcessEnv): Pager {
  const ended = new AbortController();
  // One row is for the shell's prompt.
  let rows = (out.stream.rows || Number.POSITIVE_INFINITY) - 1;
  let held: string[] = [];
  let child: ChildProcess | undefined;
  let left: Promise<void> | undefined;
  const begin = () => {
    child = spawn("sh", ["-c", command], { stdio: ["pipe", "inherit", "inherit"], env: environment });
    // The person may leave before everything is written.
    child.stdin?.on("error", () => ended.abort());
    const { promise, resolve } = Promise.withResolvers<void>();
    child.once("error", () => resolve()).once("close", () => resolve());
    left = promise;
    // Ctrl-C belongs to the pager.
    process.on("SIGINT", ignore);
    for (const line of held) child.stdin?.write(`${line}\n`);
    held = [];
  };
  const line = (text = "") => {
    if (ended.signal.aborted) return;
    if (child !== undefined) {
      child.stdin?.write(`${text}\n`);
      return;
    }
    held.push(text);
    for (const row of text.split("\n")) rows -= Math.max(1, Math.ceil(widthOf(row) / out.width));
    if (rows < 0) begin();
  };
  return {
    out: {
      stream: out.stream,
      program: out.program,
      ...(out.anywhere !== undefined && { anywhere: out.anywhere }),
      line,
      command: line,
      get lost() {
        return out.lost;
      },
      ended: ended.signal,
      alert: () => {},
      keepBelow: () => () => {},
      style: (style, text) => out.style(style, text),
      get width() {
        return out.width;
      },
    },
    async end() {
      for (const line of held) out.line(line);
      held = [];
      child?.stdin?.end();
      await left;
      process.off("SIGINT", ignore);
    },
  };
}

function ignore(): void {}
