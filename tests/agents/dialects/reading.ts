import type { Dialect, Reader, ReadOutput } from "../../../src/agents/cli/dialects/dialect.ts";
import type { ContentCheck } from "../../../src/agents/content-schema.ts";
import { standardPrompts } from "../../../src/agents/prompts/prompts.ts";
import type { TurnRequest } from "../../../src/kernel/agent.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { scratchDirectory } from "../scratch.ts";

export const AT = "2026-11-24T17:00:00Z";

/** The reader of a turn in which nobody is asked, unless `role` says so. */
export function readerOf(
  dialect: Dialect,
  role: JsonObject,
  conversation?: TurnRequest["conversation"],
  check?: ContentCheck,
): Reader {
  const request = {
    session_id: "s-1",
    at: AT,
    role: { role_id: "worker", type: "worker", permissions: { ask: "deny" }, ...role },
    stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
    payload: {
      turn_id: "t7",
      role_id: "worker",
      expects: ["report"],
      message: { payload_type: "instruction", payload: { summary: "Write limit.txt." } },
      context: {},
      workspace: "/repo",
      artifacts_dir: "/artifacts",
    },
    ...(conversation === undefined ? {} : { conversation }),
  } as unknown as TurnRequest;
  return dialect({
    request,
    prompts: standardPrompts(),
    environment: {},
    scratch: scratchDirectory,
    now: () => Date.parse(AT),
    emit: () => {},
    check,
    show: () => {},
  }).reader;
}

/** What is heard of a process that printed these messages and exited. */
export function heard(reader: Reader, messages: readonly JsonObject[], code = 0): ReadOutput {
  for (const message of messages) reader.read(Buffer.from(JSON.stringify(message)), false);
  return reader.end({ cause: "exited", exit: { code, signal: null }, spoke: true }, "");
}
