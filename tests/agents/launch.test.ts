import { once } from "node:events";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { EscapedProcesses, start } from "../../src/agents/launch.ts";
import { markerOf } from "../../src/agents/process-marker.ts";
import { environmentOf } from "../../src/agents/process-table.ts";
import { isLiving, killStray } from "../processes.ts";
import { scratchDirectory } from "./scratch.ts";

let directory: string;

beforeEach(() => {
  directory = scratchDirectory();
});

/** A shell that has printed a line, and its escaped processes. */
async function launched(script: string, marker: Record<string, string> = {}) {
  const environment = { PATH: process.env["PATH"] ?? "", ...marker };
  const since = performance.now();
  const shell = await start({ command: ["sh", "-c", script], directory, environment });
  if (!shell.ok) throw new Error(shell.error.message);
  const { value } = shell;
  onTestFinished(() => {
    value.signalGroup("SIGKILL");
    value.destroyPipes();
  });
  const [printed] = (await once(value.stdout, "data")) as [Buffer];
  // With the start id that the launcher adds.
  const given = environmentOf(value.identity.pid).map((variable) => variable.split("=", 2) as [string, string]);
  const escaped = new EscapedProcesses(value.identity, markerOf(Object.fromEntries(given)), since);
  return { shell: value, printed: printed.toString(), escaped };
}

describe.runIf(process.platform === "linux")("the escaped processes of an agent", () => {
  test("do not include its group, which gets signals anyway", async () => {
    const { escaped } = await launched("sleep 600 & echo ready; wait", { BOSUN_SESSION_ID: "s-escaped" });
    escaped.find(true);
    expect(escaped.areLeft).toBe(false);
  });

  test("stay known after their ancestors end", async () => {
    const { shell, printed, escaped } = await launched(
      "setsid env -i /bin/sh -c 'echo $$; exec /bin/sleep 600' & wait",
    );
    const pid = Number(printed);
    onTestFinished(() => killStray(pid));
    escaped.find(true);
    expect(escaped.areLeft).toBe(true);
    shell.signalGroup("SIGKILL");
    await shell.exited;
    escaped.find(true);
    expect(escaped.areLeft).toBe(true);
    escaped.signal("SIGKILL");
    await expect.poll(() => isLiving(pid)).toBe(false);
    expect(escaped.areLeft).toBe(false);
  });
});
