import { EventEmitter, once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import type { PayloadByType, PayloadType } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";

const PROGRAM = join(import.meta.dirname, "../fixtures/debaters/debater.mjs");

/** Not in alphabetical order, in which the store returns rows. */
export const DEBATERS = ["python", "go", "architect"] as const;

export const INPUT = { topic: "Python or Go?", debaters: [...DEBATERS], judge: "judge", rounds: 2 };

/** Debaters and a judge whose programs connect to this address. */
export function rolesAt(address: string): Role[] {
  const cli_command: Role["cli_command"] = [process.execPath, PROGRAM, address];
  return [...DEBATERS, "judge"].map((role_id) => ({ role_id, type: "participant", cli_command }));
}

/** A program that has its request and waits for the test to give it an answer. */
export class Speaker {
  readonly pid: number;
  readonly session_id: string;
  readonly request: PayloadByType["turn_request"];
  readonly #socket: Socket;

  constructor(socket: Socket, said: Pick<Speaker, "pid" | "session_id" | "request">) {
    this.#socket = socket;
    this.pid = said.pid;
    this.session_id = said.session_id;
    this.request = said.request;
  }

  get role_id(): string {
    return this.request.role_id;
  }

  get round(): number {
    return Number(this.request.context.metadata?.["round"]);
  }

  /** Its position, which the others find in their requests. */
  get position(): string {
    return `${this.role_id} holds this in round ${this.round}`;
  }

  /** The program prints this answer and ends. */
  say(payload_type: PayloadType, payload: JsonObject): void {
    this.#socket.write(`${JSON.stringify({ payload_type, payload })}\n`);
  }

  hold(more: JsonObject = {}): void {
    this.say("opinion", { round: this.round, position: this.position, ...more });
  }
}

/** A socket to which the programs of a debate connect, so that the test controls when each answers. */
export class Stage {
  readonly address: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #arrived = new EventEmitter();
  readonly #speakers: Speaker[] = [];

  private constructor(address: string) {
    this.address = address;
    this.#server = createServer((socket) => this.#meet(socket));
  }

  static async open(directory: string): Promise<Stage> {
    const stage = new Stage(join(directory, "stage.socket"));
    await new Promise<void>((resolve) => stage.#server.listen(stage.address, resolve));
    onTestFinished(() => {
      for (const socket of stage.#sockets) socket.destroy();
      stage.#server.close();
    });
    return stage;
  }

  /** Resolves when so many programs wait at the same time, with the programs by role id. */
  async gathered(count: number): Promise<Speaker[]> {
    while (this.#speakers.length < count) await once(this.#arrived, "speaker");
    return this.#speakers.splice(0).toSorted((a, b) => (a.role_id < b.role_id ? -1 : 1));
  }

  /** Lets all answer once all are there. */
  async round(count: number = DEBATERS.length): Promise<Speaker[]> {
    const speakers = await this.gathered(count);
    for (const speaker of speakers) speaker.hold();
    return speakers;
  }

  async verdict(payload: JsonObject): Promise<Speaker> {
    const [judge] = await this.gathered(1);
    if (!judge) throw new Error("No judge came.");
    judge.say("verdict", payload);
    return judge;
  }

  #meet(socket: Socket): void {
    this.#sockets.add(socket);
    let speaker: Speaker | undefined;
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#sockets.delete(socket);
      const at = speaker ? this.#speakers.indexOf(speaker) : -1;
      if (at >= 0) this.#speakers.splice(at, 1);
    });
    createInterface({ input: socket }).on("line", (line) => {
      speaker = new Speaker(socket, JSON.parse(line) as Speaker);
      this.#speakers.push(speaker);
      this.#arrived.emit("speaker");
    });
  }
}
