import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { start } from "../../src/agents/launch.ts";
import { programFile } from "../../src/lib/program-file.ts";
import type { SandboxMechanism } from "../../src/agents/isolation/mechanism.ts";
import { LogFolder } from "../../src/log/writer.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { scratchDirectory } from "./scratch.ts";
import { availableSandboxes } from "./sandboxes.ts";
import { killStray } from "../processes.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const SCHEDULER = join(import.meta.dirname, "children/scheduler.ts");
const SANDBOXES: { readonly name: string; readonly mechanism: SandboxMechanism | undefined }[] = [
  { name: "no sandbox", mechanism: undefined },
  ...(await availableSandboxes()).map(({ name, mechanism }) => ({
    name: `the sandbox processes by ${name}`,
    mechanism,
  })),
];

let directory: string;

beforeEach(() => {
  directory = scratchDirectory();
});

function specOf(command: readonly string[], mechanism: SandboxMechanism | undefined) {
  const isolation = { level: "processes", required: true } as const;
  return { command, directory, environment: { PATH }, ...(mechanism && { isolation }) };
}

describe.runIf(process.platform === "linux").each(SANDBOXES)("an agent in $name", ({ mechanism }) => {
  test("inherits only three descriptors while database, lock and log are open", async () => {
    const home = join(directory, "home");
    mkdirSync(home);
    const store = openStore(home);
    if (!store.ok) throw new Error(store.error.message);
    onTestFinished(() => store.value.close());
    const at = { session_id: "s-1", created_at: "2026-01-02T03:04:05Z" };
    await store.value.create({ ...at, mode: "schedule", workspace: directory });
    const lease = await store.value.acquire("s-1", { pid: process.pid, host: "here", started_at: at.created_at });
    if (!lease.ok) throw new Error(lease.error.message);
    onTestFinished(() => store.value.release(lease.value));
    const log = LogFolder.open(join(home, "logs"));
    if (!log.ok) throw new Error(log.error.message);
    onTestFinished(() => log.value.close());
    const launched = await start(specOf(["ls", "-l", "/proc/self/fd"], mechanism), mechanism);
    if (!launched.ok) throw new Error(launched.error.message);
    launched.value.stderr.resume();
    const chunks: Buffer[] = [];
    for await (const chunk of launched.value.stdout) chunks.push(chunk as Buffer);
    const open = Buffer.concat(chunks)
      .toString()
      .split("\n")
      .flatMap((line) => /(\d+) -> (.*)$/.exec(line)?.slice(1, 3).join(" ") ?? []);
    // One more is the listed folder; descriptors that this process inherited are /dev/null.
    expect(
      open.filter((line) => !/\/proc\/\d+\/fd$|^\d{2,} \/dev\/null$/.test(line)).map((line) => line.split(" ")[0]),
    ).toEqual(["0", "1", "2"]);
    expect(open.length).toBeGreaterThan(3);
  });

  test("gets /dev/null for descriptors that its scheduler inherited", async () => {
    const spec = JSON.stringify(specOf(["ls", "-l", "/proc/self/fd"], mechanism));
    const scheduler = spawn(process.execPath, [SCHEDULER, spec, ...(mechanism ? [JSON.stringify(mechanism)] : [])], {
      stdio: ["ignore", "pipe", "inherit", ...Array.from({ length: 37 }, () => "ignore" as const), "pipe"],
      env: { ...process.env, BOSUN_TEST_ONCE: "1" },
    });
    onTestFinished(() => killStray(scheduler.pid ?? 0));
    const chunks: Buffer[] = [];
    for await (const chunk of scheduler.stdout as Readable) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString()).toMatch(/ 40 -> \/dev\/null$/m);
  });

  test("has no terminal, although its scheduler has one", () => {
    const ask = "if (: </dev/tty) 2>&1; then echo has one; fi";
    const inTerminal = (command: string) =>
      execFileSync(programFile("script", "/", PATH) ?? "", ["-qec", command, "/dev/null"], { encoding: "utf8" });
    expect(inTerminal(`sh -c '${ask}'`)).toContain("has one");
    const spec = JSON.stringify({ ...specOf(["sh", "-c", ask], mechanism) });
    const words = [process.execPath, SCHEDULER, spec, ...(mechanism ? [JSON.stringify(mechanism)] : [])];
    const scheduler = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const said = inTerminal(`BOSUN_TEST_ONCE=1 ${scheduler}`);
    expect(said).toContain("No such device or address");
    expect(said).not.toContain("has one");
  });
});
