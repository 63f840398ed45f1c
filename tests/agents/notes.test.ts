import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cliAgent } from "../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import { NO_SECRETS } from "../../src/lib/withholder.ts";
import type { Permissions } from "../../src/protocol/roles.ts";
import { scratchDirectory } from "./scratch.ts";

const PROGRAM = join(import.meta.dirname, "../fixtures/agents/hears.mjs");

/** A turn of a program that is told "Use tabs." as soon as it takes notes. `begun` is called when its conversation begins. */
async function told(
  dialect: "claude" | "codex",
  permissions: Permissions,
  hears = "",
  begun: (workspace: string) => void = () => {},
) {
  const workspace = scratchDirectory();
  const shown: string[] = [];
  /** What takes notes now, and whether something did. */
  let take: ((note: string) => void) | undefined;
  let hasTaken = false;
  const request = {
    session_id: "s-1",
    at: "2026-11-24T17:00:00Z",
    role: {
      ...{ role_id: "worker", type: "worker", dialect, permissions, env: { HEARS: hears } },
      cli_command: [process.execPath, PROGRAM],
    },
    stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
    payload: {
      ...{ turn_id: "t7", role_id: "worker", expects: ["report"], context: {} },
      message: { payload_type: "instruction", payload: { summary: "Write a.txt." } },
      ...{ workspace, artifacts_dir: join(workspace, "artifacts") },
    },
    ...{ timeout_ms: 20_000, idle_timeout_ms: 0, slot: 1, output_directory: join(workspace, "output") },
  } as unknown as TurnRequest;
  const settings = {
    ...{ kill_grace_ms: 2_000, answer_grace_ms: 5_000, max_line_bytes: 8_388_608, max_output_bytes: 67_108_864 },
    environment: { PATH: process.env["PATH"], HOME: workspace },
  };
  const { answer, failure, exit } = await cliAgent({ launcher: embeddedLauncher(), settings }).turn(request, {
    signal: new AbortController().signal,
    started: async () => {},
    emit: (event) => {
      if (event.kind === "console") shown.push(event.text);
      if (event.kind === "conversation") begun(workspace);
    },
    secrets: NO_SECRETS,
    permit: async () => ({ granted: false }),
    hear: (taking) => {
      take = taking;
      hasTaken ||= taking !== undefined;
      taking?.("Use tabs.");
      if (taking === undefined) writeFileSync(join(workspace, "deaf"), "");
    },
  });
  const heard = readFileSync(join(workspace, "heard"), "utf8").trimEnd().split("\n");
  return {
    summary: answer?.payload["summary"],
    failure: failure?.code,
    exit,
    hasTaken,
    takesStill: take !== undefined,
    heard,
    shown,
  };
}

const NOTE = "A note to this turn: Use tabs.";

describe("claude", () => {
  test("is told while it works, with the same words in its answer", async () => {
    const { summary, heard, takesStill } = await told("claude", {});
    expect([summary, takesStill]).toEqual([NOTE, false]);
    expect(heard.map((text) => JSON.parse(text) as string)).toEqual([expect.stringContaining("Write a.txt."), NOTE]);
  });

  test("answers again if it answered before it read the note", async () => {
    expect(await told("claude", {}, "late")).toMatchObject({ summary: NOTE, takesStill: false });
  });

  test("takes no more notes once it has answered, although it runs on, or when it has died", async () => {
    expect(await told("claude", {}, "stays")).toMatchObject({ summary: NOTE, exit: { code: 0 }, takesStill: false });
    expect(await told("claude", {}, "fails")).toMatchObject({ failure: "agent_failed", takesStill: false });
  });

  test("cannot be told if nobody may be asked, because its stdin is closed", async () => {
    const turn = told("claude", { ask: "deny" }, "alone");
    expect(await turn).toMatchObject({ hasTaken: false, summary: "Nothing was told." });
  });
});

describe("codex", () => {
  test("is told by app-server with turn/steer", async () => {
    expect(await told("codex", {})).toMatchObject({ summary: NOTE, takesStill: false, heard: [JSON.stringify(NOTE)] });
  });

  test("shows that app-server did not take the note, and its turn goes on", async () => {
    const { summary, shown } = await told("codex", {}, "refuses");
    expect(summary).toBe("Nothing was told.");
    expect(shown).toContainEqual(expect.stringContaining("comes with the next turn"));
  });

  test("cannot be told by exec", async () => {
    const go = (workspace: string) => writeFileSync(join(workspace, "go"), "");
    expect(await told("codex", { ask: "deny" }, "", go)).toMatchObject({
      hasTaken: false,
      summary: "Nothing was told.",
    });
  });
});
