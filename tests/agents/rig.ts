import { Withholder } from "../../src/lib/withholder.ts";
import { EventEmitter, once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { cliAgent, type CliSettings } from "../../src/agents/cli/agent.ts";
import { embeddedLauncher } from "../../src/agents/embedded-launcher.ts";
import type { ProcessIdentity, TurnEvent, TurnRequest, TurnResult } from "../../src/kernel/agent.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { scratchDirectory } from "./scratch.ts";

const PUPPET = join(import.meta.dirname, "../fixtures/agents/puppet.mjs");

/** A running puppet. */
export class Puppet {
  readonly pid: number;
  readonly #socket: Socket;
  readonly #events: EventEmitter;

  constructor(pid: number, socket: Socket, events: EventEmitter) {
    this.pid = pid;
    this.#socket = socket;
    this.#events = events;
  }

  tell(order: { readonly do: string } & JsonObject): void {
    this.#socket.write(`${JSON.stringify(order)}\n`);
  }

  /** Gives an order and waits until it is done. */
  async ask(order: { readonly do: string } & JsonObject, event: string): Promise<JsonObject> {
    const done = this.heard(event);
    this.tell(order);
    return done;
  }

  async heard(event: string): Promise<JsonObject> {
    const [what] = (await once(this.#events, event)) as [JsonObject];
    return what;
  }

  async print(text: string, stream = "stdout"): Promise<void> {
    await this.ask({ do: "print", text, stream }, "printed");
  }
}

export interface RunningTurn {
  readonly puppet: Puppet;
  readonly result: Promise<TurnResult>;
  readonly events: TurnEvent[];
  readonly identities: ProcessIdentity[];
  readonly abort: AbortController;
  /** Waits for the first matching event. */
  event(fits: (event: TurnEvent) => boolean): Promise<TurnEvent>;
}

export interface TurnChoices {
  readonly request?: Partial<TurnRequest>;
  readonly payload?: JsonObject;
  readonly settings?: Partial<CliSettings>;
  readonly environment?: Readonly<Record<string, string>>;
  /** What the puppet does before its start is on record, and so before any time limit starts. */
  readonly prepare?: (puppet: Puppet) => Promise<void>;
  readonly started?: Promise<void>;
  readonly secrets?: readonly string[];
}

/** Starts real agent processes that the test drives over a socket, so that no test depends on timing. */
export class AgentRig {
  readonly directory: string;
  readonly #server: Server;
  readonly #address: string;
  readonly #sockets: Socket[] = [];
  readonly #waiting: ((puppet: Puppet) => void)[] = [];

  private constructor(directory: string) {
    this.directory = directory;
    this.#address = join(directory, "rig.socket");
    this.#server = createServer((socket) => this.#meet(socket));
  }

  static async open(): Promise<AgentRig> {
    const rig = new AgentRig(scratchDirectory());
    await new Promise<void>((resolve) => rig.#server.listen(rig.#address, resolve));
    onTestFinished(() => {
      rig.#server.close();
      for (const socket of rig.#sockets) socket.destroy();
    });
    return rig;
  }

  /** How many puppets are connected. */
  connections(): Promise<number> {
    return new Promise((resolve) => this.#server.getConnections((_, count) => resolve(count)));
  }

  get puppetCommand(): readonly string[] {
    return [process.execPath, PUPPET, this.#address];
  }

  /** A request for the role `worker` and the ticket T-1. */
  request({ request = {}, payload = {}, environment = {} }: TurnChoices = {}): TurnRequest {
    return {
      session_id: "s-1",
      at: "2026-01-02T03:04:05Z",
      role: { role_id: "worker", type: "worker", cli_command: this.puppetCommand, env: environment },
      stamp: { turn_id: "t7", subject: "T-1", attempt: 2, run: 3 },
      payload: {
        turn_id: "t7",
        role_id: "worker",
        expects: ["report", "error"],
        message: { payload_type: "instruction", payload: { summary: "Do it." } },
        context: {},
        workspace: this.directory,
        artifacts_dir: join(this.directory, "artifacts"),
        ...payload,
      },
      timeout_ms: 20_000,
      idle_timeout_ms: 0,
      slot: 4,
      output_directory: join(this.directory, "output"),
      ...request,
    };
  }

  settings(choices: Partial<CliSettings> = {}): CliSettings {
    return {
      kill_grace_ms: 2_000,
      answer_grace_ms: 2_000,
      max_line_bytes: 8_388_608,
      max_output_bytes: 67_108_864,
      environment: { PATH: process.env["PATH"], HOME: process.env["HOME"] },
      ...choices,
    };
  }

  /** Starts a turn and waits for its puppet to connect; only then is its start on record. */
  async turn(choices: TurnChoices = {}): Promise<RunningTurn> {
    const events: TurnEvent[] = [];
    const identities: ProcessIdentity[] = [];
    const emitted = new EventEmitter();
    const abort = new AbortController();
    const arrived = new Promise<Puppet>((resolve) => this.#waiting.push(resolve));
    const prepared = Promise.withResolvers<Puppet>();
    const agent = cliAgent({ launcher: embeddedLauncher(), settings: this.settings(choices.settings) });
    const result = agent.turn(this.request(choices), {
      signal: abort.signal,
      started: async (identity) => {
        if (identity) identities.push(identity);
        await choices.prepare?.(await arrived);
        prepared.resolve(await arrived);
        await choices.started;
      },
      emit: (event) => {
        events.push(event);
        emitted.emit("event");
      },
      secrets: new Withholder(choices.secrets ?? []),
      permit: async () => ({ granted: false }),
    });
    onTestFinished(async () => {
      abort.abort();
      await result;
    });
    const event = async (fits: (event: TurnEvent) => boolean) => {
      for (;;) {
        const found = events.find(fits);
        if (found !== undefined) return found;
        await once(emitted, "event");
      }
    };
    return { puppet: await prepared.promise, result, events, identities, abort, event };
  }

  #meet(socket: Socket): void {
    const events = new EventEmitter();
    this.#sockets.push(socket);
    socket.on("error", () => socket.destroy());
    createInterface({ input: socket }).on("line", (line) => {
      const what = JSON.parse(line) as { event: string; pid: number };
      if (what.event === "hello") this.#waiting.shift()?.(new Puppet(what.pid, socket, events));
      else events.emit(what.event, what);
    });
  }
}

/** An envelope of the worker as one line. */
export function envelope(payload_type: string, payload: JsonObject, more: JsonObject = {}): string {
  const whole = {
    session_id: "s-1",
    source: "worker",
    target: "scheduler",
    payload_type,
    version: "1.0",
    payload,
    ...more,
  };
  return `${JSON.stringify(whole)}\n`;
}

export const REPORT = envelope("report", { status: "completed", summary: "Done." });
