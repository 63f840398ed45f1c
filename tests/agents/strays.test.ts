import { once } from "node:events";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { start } from "../../src/agents/launch.ts";
import { markOf } from "../../src/agents/mark.ts";
import { environmentOf } from "../../src/agents/process-table.ts";
import { Strays } from "../../src/agents/strays.ts";
import { isLiving, killStray } from "../processes.ts";
import { Cleanup, scratchDirectory } from "./cleanup.ts";

let cleanup: Cleanup;
let directory: string;

beforeEach(async () => {
  cleanup = new Cleanup();
  directory = await scratchDirectory(cleanup);
});
afterEach(() => cleanup.run());

/** A shell that has printed a line, and what looks for its strays. */
async function launched(script: string, mark: Record<string, string> = {}) {
  const environment = { PATH: process.env["PATH"] ?? "", ...mark };
  const since = performance.now();
  const shell = await start({ command: ["sh", "-c", script], directory, environment });
  if (!shell.ok) throw new Error(shell.error.message);
  const { value } = shell;
  cleanup.add(() => {
    value.signalGroup("SIGKILL");
    value.destroyPipes();
  });
  const [said] = (await once(value.stdout, "data")) as [Buffer];
  // With what the launcher has added.
  const given = environmentOf(value.identity.pid).map((variable) => variable.split("=", 2) as [string, string]);
  const strays = new Strays(value.identity, markOf(Object.fromEntries(given)), since);
  return { shell: value, said: said.toString(), strays };
}

describe.runIf(process.platform === "linux")("the strays of an agent", () => {
  test("are nobody of its group, who would be told everything twice", async () => {
    const { strays } = await launched("sleep 600 & echo ready; wait", { BOSUN_SESSION_ID: "s-strays-group" });
    strays.seek(true);
    expect(strays.live).toBe(false);
  });

  test("stay known when nothing leads to them any more", async () => {
    const { shell, said, strays } = await launched("setsid env -i /bin/sh -c 'echo $$; exec /bin/sleep 600' & wait");
    const stray = Number(said);
    cleanup.add(() => killStray(stray));
    strays.seek(true);
    expect(strays.live).toBe(true);
    shell.signalGroup("SIGKILL");
    await shell.exited;
    strays.seek(true);
    expect(strays.live).toBe(true);
    strays.signal("SIGKILL");
    await expect.poll(() => isLiving(stray)).toBe(false);
    expect(strays.live).toBe(false);
  });
});
