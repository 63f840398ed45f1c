import { join } from "node:path";
import { onTestFinished } from "vitest";
import { embeddedLauncher } from "../../../src/agents/embedded-launcher.ts";
import { modelAgent } from "../../../src/agents/model/agent.ts";
import { completeModel, modelAddress } from "../../../src/config/model-roles.ts";
import { providerAdapter } from "../../../src/harness/provider-adapter.ts";
import type {
  Permission,
  PermissionRequest,
  ProcessIdentity,
  TurnEvent,
  TurnRequest,
  TurnResult,
} from "../../../src/kernel/agent.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { ok } from "../../../src/lib/result.ts";
import { Withholder } from "../../../src/lib/withholder.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import type { Model } from "../../model-servers/conversation.ts";
import { ModelServer } from "../../model-servers/server.ts";
import { scratchDirectory } from "../scratch.ts";

export const KEY = "sk-test-0123456789abcdef";

/** What a turn may do otherwise than usual. */
interface Choices {
  readonly role?: Partial<Role>;
  readonly payload?: JsonObject;
  readonly request?: Partial<TurnRequest>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly permit?: (request: PermissionRequest) => Permission | Promise<Permission>;
  readonly signal?: AbortSignal;
  readonly heard?: (event: TurnEvent) => void;
}

interface Turned {
  readonly result: TurnResult;
  /** What the agent told before its answer, in order; `started` stands where it told that it runs. */
  readonly events: (TurnEvent | { readonly kind: "started"; readonly process: ProcessIdentity | undefined })[];
  /** The lines for people. */
  readonly lines: string[];
}

/** Model seats with a model server on loopback. */
export class ModelRig {
  readonly directory: string;
  readonly output: string;
  readonly server: ModelServer;

  private constructor(server: ModelServer) {
    this.server = server;
    this.directory = scratchDirectory();
    this.output = join(scratchDirectory(), "output");
  }

  static async open(model: Model): Promise<ModelRig> {
    const server = await ModelServer.start(model, { aside: () => undefined });
    onTestFinished(() => server.close());
    return new ModelRig(server);
  }

  /** The texts that tools gave back, in order. */
  results(): string[] {
    const last = this.server.exchanges.at(-1)?.conversation?.messages ?? [];
    return last.flatMap(({ from, text }) => (from === "tool" ? [text] : []));
  }

  async turn({ role: more, payload, request, environment, permit, signal, heard }: Choices = {}): Promise<Turned> {
    const own = { PATH: process.env["PATH"], HOME: this.directory, LLM_API_KEY: KEY, ...environment };
    const address = { provider: "openai-compatible", model: "small", base_url: `${this.server.url}/v1` } as const;
    const given: Role = { role_id: "worker", type: "worker", backend: "model", ...address, ...more };
    const role = { ...given, ...completeModel(given, own) };
    const events: Turned["events"] = [];
    const agent = modelAgent({
      launcher: embeddedLauncher(),
      settings: {
        kill_grace_ms: 500,
        answer_grace_ms: 200,
        max_line_bytes: 8_388_608,
        max_output_bytes: 67_108_864,
        environment: own,
      },
      adapterFor: async (one) => {
        const found = modelAddress(one, own);
        return found.ok ? ok(await providerAdapter(found.value)) : found;
      },
    });
    const result = await agent.turn(
      {
        session_id: "s-1",
        at: "2026-01-02T03:04:05Z",
        role,
        stamp: { turn_id: "t7", subject: "T-1", attempt: 1, run: 1 },
        payload: {
          turn_id: "t7",
          role_id: role.role_id,
          expects: ["report", "error"],
          message: { payload_type: "instruction", payload: { summary: "Do it." } },
          context: {},
          workspace: this.directory,
          artifacts_dir: join(this.directory, "artifacts"),
          ...payload,
        },
        timeout_ms: 20_000,
        idle_timeout_ms: 0,
        slot: 1,
        output_directory: this.output,
        ...request,
      },
      {
        signal: signal ?? new AbortController().signal,
        started: async (process) => void events.push({ kind: "started", process }),
        emit: (event) => {
          events.push(event);
          heard?.(event);
        },
        secrets: new Withholder([KEY]),
        permit: async (asked) => (await permit?.(asked)) ?? { granted: false, notes: "Nobody is asked here." },
      },
    );
    const lines = events.flatMap((event) => (event.kind === "console" ? [event.text] : []));
    return { result, events, lines };
  }
}

/** A report as a model answers it. */
export const report = (summary = "done"): JsonObject => ({
  payload_type: "report",
  report: { status: "completed", summary },
  error: null,
});
