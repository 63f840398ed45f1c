import { type ChildProcess, spawn } from "node:child_process";
import { widthOf } from "../lib/text-layout.ts";
import type { Output } from "./terminal.ts";

/** An output that a person reads in a pager. */
export interface Pager {
  readonly out: Output;
  /** Resolves once the person has quit the pager. */
  end(): Promise<void>;
}

/**
 * An output that starts a pager (a shell command) once there are more lines than the terminal has rows. Fewer lines are written straight to the
 * terminal at the end.
 */
export function pagerAt(out: Output, command: string, environment: NodeJS.ProcessEnv): Pager {
  const ended = new AbortController();
  // Leave one row for the shell's prompt.
  let rows = (out.stream.rows || Number.POSITIVE_INFINITY) - 1;
  let held: string[] = [];
  let child: ChildProcess | undefined;
  let left: Promise<void> | undefined;
  const begin = () => {
    child = spawn("/bin/sh", ["-c", command], { stdio: ["pipe", "inherit", "inherit"], env: environment });
    // The person may quit the pager before everything is written.
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
    out: { ...out, line, command: line, ended: ended.signal, alert: () => {}, keepBelow: () => () => {} },
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
