import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

/** A temporary directory that is removed when the test finishes. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "bosun-store-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** The files that a process has open; empty on platforms without /proc. */
export function openFiles(pid = 0): string[] {
  if (process.platform !== "linux") return [];
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    try {
      return readlinkSync(join(folder, name));
    } catch {
      return [];
    }
  });
}

/** A process running a script of `children/`. */
export interface Child {
  readonly process: ChildProcess;
  /** The next line it prints; throws if it ends without one. */
  line(): Promise<string>;
  /** Resolves when it has exited. */
  readonly gone: Promise<void>;
}

/** Starts a script of `children/`; it is killed when the test finishes. */
export function child(script: string, ...parameters: readonly string[]): Child {
  const path = join(import.meta.dirname, "children", script);
  const started = spawn(process.execPath, [path, ...parameters], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] },
  });
  const lines = createInterface({ input: started.stdout })[Symbol.asyncIterator]();
  const running: Child = {
    process: started,
    async line() {
      const next = await lines.next();
      if (next.done === true) throw new Error(`${script} ended without another line.`);
      return next.value;
    },
    gone: once(started, "exit").then(() => undefined),
  };
  onTestFinished(async () => {
    started.kill("SIGKILL");
    await running.gone;
  });
  return running;
}
