import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { seal } from "../../src/log/chain.ts";
import { GENESIS, type UnsealedRecord } from "../../src/protocol/record.ts";
import type { SealedRecord } from "../../src/protocol/record.ts";
import type { Owner } from "../../src/store/store.ts";

const directories: string[] = [];
const children = new Set<Child>();
const closing: (() => void)[] = [];

/** A temporary directory that `cleanUp` removes. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "bosun-store-"));
  directories.push(directory);
  return directory;
}

/** Has `cleanUp` close something. */
export function closeLater(close: () => void): void {
  closing.push(close);
}

/** For `afterEach`: ends processes, closes handles and removes directories. */
export async function cleanUp(): Promise<void> {
  for (const each of children) each.process.kill("SIGKILL");
  await Promise.all([...children].map((each) => each.gone));
  children.clear();
  for (const close of closing.splice(0)) close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
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
  children.add(running);
  return running;
}

export const OWNER: Owner = { pid: process.pid, host: "here", started_at: "2026-01-01T00:00:00Z" };

/** A small record like the runtime's, different for each sequence. */
export function unsealed(sequence: number, more: Partial<UnsealedRecord> = {}): UnsealedRecord {
  return {
    session_id: "s1",
    timestamp: "2026-01-01T00:00:00Z",
    source: "worker",
    target: "scheduler",
    payload_type: sequence === 1 ? "session_opened" : "report",
    version: "1.0",
    payload: { status: "completed", summary: `Work ${sequence} is done.` },
    record: {
      kind: "fact",
      received_at: "2026-01-01T00:00:00.250Z",
      ticket_id: `T-${sequence}`,
      disposition: "applied",
      effects: [{ ticket_id: `T-${sequence}`, from: "in_progress", event: "report_submitted", to: "awaiting_review" }],
    },
    ...more,
  };
}

/** A chain of records from sequence 1; `more` changes each before it is sealed. */
export function chain(
  length: number,
  more: (sequence: number) => Partial<UnsealedRecord> = () => ({}),
): SealedRecord[] {
  const records: SealedRecord[] = [];
  for (let sequence = 1; sequence <= length; sequence++) {
    const previous = records.at(-1)?.hash ?? GENESIS;
    records.push(seal(unsealed(sequence, more(sequence)), { sequence, previous }));
  }
  return records;
}
