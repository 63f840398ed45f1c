import { chmodSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { NO_SECRETS } from "../../src/lib/withholder.ts";
import { cliAgent } from "../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { PermissionRequest, TurnRequest } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Permissions } from "../../src/protocol/roles.ts";
import { scratchDirectory } from "./scratch.ts";

const PROGRAM = join(import.meta.dirname, "../fixtures/agents/asks.mjs");

export type Speaker = "claude" | "codex" | "opencode" | "acp" | "envelope";

/** A repository with links that lead out of it and to its git directory, and what lies beside it. */
export function place() {
  const base = realpathSync(scratchDirectory());
  const workspace = join(base, "w");
  for (const folder of ["w/.git/hooks", "w/src", "w/sub/.git", "w/.bosun", "outside", "artifacts"]) {
    mkdirSync(join(base, folder), { recursive: true });
  }
  writeFileSync(join(workspace, ".git/HEAD"), "ref: refs/heads/main\n");
  symlinkSync(join(base, "outside"), join(workspace, "docs"));
  symlinkSync("../outside/new.txt", join(workspace, "dangling"));
  symlinkSync(".git/hooks", join(workspace, "hooks"));
  symlinkSync("src", join(workspace, "code"));
  symlinkSync(workspace, join(base, "alias"));
  return { base, workspace };
}

interface Heard {
  readonly argv: readonly string[];
  readonly rules?: string;
  readonly folder?: string;
  readonly request?: JsonObject;
  /** Whether each request was granted. */
  readonly replies: readonly Json[];
}
type Json = boolean | JsonObject;

/** One turn of a program that asks for each of these, in its own words. `<w>` and `<base>` in them are the workspace and the folder that it is in. */
export async function turn(
  speaker: Speaker,
  permissions: Permissions,
  calls: readonly JsonObject[],
  { grants = false, alias = false } = {},
) {
  const { base, workspace } = place();
  const heard = join(base, "heard.json");
  const program = join(base, "program");
  writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
  chmodSync(program, 0o755);
  const filled = (value: unknown): string =>
    JSON.stringify(value).replaceAll("<w>", workspace).replaceAll("<base>", base);
  const asked: PermissionRequest[] = [];
  const asks = join(base, "asks.json");
  writeFileSync(asks, filled(calls));
  const env = { SPEAKS: speaker, ASKS: asks, HEARD: heard };
  const dialect = speaker === "acp" ? { backend: "acp" } : { dialect: speaker };
  const settings = {
    ...{ kill_grace_ms: 2_000, answer_grace_ms: 5_000, max_line_bytes: 8_388_608, max_output_bytes: 67_108_864 },
    environment: { PATH: process.env["PATH"], HOME: base },
    redact: (text: string) => text,
  };
  const request = {
    session_id: "s-1",
    at: "2026-11-24T17:00:00Z",
    role: { role_id: "worker", type: "worker", cli_command: [program], ...dialect, permissions, env },
    stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
    payload: {
      ...{ turn_id: "t7", role_id: "worker", expects: ["report"], context: {} },
      message: { payload_type: "instruction", payload: { summary: "Write a.txt." } },
      ...{ workspace: alias ? join(base, "alias") : workspace, artifacts_dir: join(base, "artifacts") },
    },
    ...{ timeout_ms: 30_000, idle_timeout_ms: 0, slot: 1, output_directory: join(base, "output") },
  } as unknown as TurnRequest;
  const result = await cliAgent({ launcher: embeddedLauncher(), settings }).turn(request, {
    signal: new AbortController().signal,
    started: async () => {},
    emit: () => {},
    secrets: NO_SECRETS,
    permit: async (wanted) => {
      asked.push(wanted);
      return { granted: grants };
    },
  });
  expect(result.failure).toBeUndefined();
  const told = JSON.parse(readFileSync(heard, "utf8")) as Heard;
  const shown = asked.map(({ action, details = "" }) => `${action}\n${details}`.replaceAll(base, "<base>"));
  return { base, workspace, asked, shown, ...told, rules: JSON.parse(told.rules ?? "{}") as JsonObject };
}

export const run = (command: string, more: JsonObject = {}) => ({ kind: "execute", rawInput: { command, ...more } });
export const edit = (rawInput: JsonObject, ...paths: string[]) => ({
  kind: "edit",
  rawInput,
  locations: paths.map((path) => ({ path })),
});
export const command = (words: string, more: JsonObject = {}) => ({
  about: "commandExecution",
  ...{ kind: "command", environmentId: "local", command: `/bin/bash -lc '${words}'`, cwd: "<w>" },
  ...{ proposedExecpolicyAmendment: words.split(" "), availableDecisions: ["accept", "cancel"] },
  ...more,
});
export const change = (path: string, more: JsonObject = {}) => ({
  about: "fileChange",
  item: { type: "fileChange", changes: [{ path, kind: { type: "update" }, diff: "+x" }] },
  ...more,
});
export const use = (tool_name: string, input: JsonObject) => ({ tool_name, input });

/** A command as Gemini tells it, without an input. */
export function gemini(text: string): JsonObject {
  return { kind: "execute", title: "A tool", content: [{ type: "content", content: { type: "text", text } }] };
}
