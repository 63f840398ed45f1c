import { once } from "node:events";
import { createWriteStream, type WriteStream } from "node:fs";
import { dirname, join } from "node:path";
import type { TurnContext, TurnRequest } from "../../kernel/agent.ts";
import { makeDirectory, OWN } from "../../lib/files.ts";
import { settlesWithin } from "../processes.ts";
import type { Reader } from "./dialects/dialect.ts";
import { OPENING_BRACE } from "./messages.ts";
import type { RunListener, Stream } from "./process.ts";
import { StderrTail } from "./stderr-tail.ts";
import { Throttle } from "./throttle.ts";

const CONSOLE_LINE_BYTES = 1_048_576;
const MAX_CONSOLE_EVENTS = 1_000;
const CONSOLE_EVENT_CHARACTERS = 8_192;

interface OutputSettings {
  readonly max_line_bytes: number;
  readonly max_output_bytes: number;
}

/** What a turn prints: kept in files beside the log, and shown as it arrives. */
export class TurnOutput {
  readonly #request: TurnRequest;
  readonly #context: TurnContext;
  readonly #settings: OutputSettings;
  readonly #logs: Readonly<Record<Stream | "events", ConsoleLog>>;
  readonly #tail = new StderrTail();
  /** Lines after which a secret may go on. */
  readonly #held = new Map<Stream, string>();
  #consoleEvents = 0;

  constructor(request: TurnRequest, context: TurnContext, settings: OutputSettings) {
    this.#request = request;
    this.#context = context;
    this.#settings = settings;
    const logOf = (name: string) => new ConsoleLog(this.#path(name), settings.max_output_bytes);
    this.#logs = { stdout: logOf("stdout.log"), stderr: logOf("stderr.log"), events: logOf("events.ndjson") };
  }

  /** Shows and keeps a line of text for people. */
  show(stream: Stream, text: string): Promise<void> | undefined {
    const held = this.#held.get(stream);
    const whole = held === undefined ? text : `${held}\n${text}`;
    if (whole.length < CONSOLE_LINE_BYTES && this.#context.secrets.mayGoOn(whole)) {
      this.#held.set(stream, whole);
      return undefined;
    }
    this.#held.delete(stream);
    return this.#shown(stream, whole);
  }

  #shown(stream: Stream, lines: string): Promise<void> | undefined {
    const withheld = this.#context.secrets.text(lines);
    for (const text of withheld.split("\n")) {
      if (stream === "stderr") this.#tail.add(text);
      this.#consoleEvents += 1;
      if (this.#consoleEvents > MAX_CONSOLE_EVENTS) continue;
      this.#context.emit({ kind: "console", stream, text: text.slice(0, CONSOLE_EVENT_CHARACTERS) });
    }
    return this.#logs[stream].write(withheld);
  }

  /** Shows and keeps a line as it came. */
  line(stream: Stream, bytes: Buffer, cut: boolean): Promise<void> | undefined {
    const tooLong = cut || bytes.length > CONSOLE_LINE_BYTES;
    const kept = bytes.toString("utf8", 0, Math.min(bytes.length, CONSOLE_LINE_BYTES));
    return this.show(stream, tooLong ? `${kept} [cut]` : kept);
  }

  /** Keeps a line of a program's own protocol, which is not shown. */
  keep(line: string): Promise<void> | undefined {
    return this.#logs.events.write(this.#context.secrets.text(line));
  }

  /** The listener of one process: passes messages on to the reader of its dialect, and shows other lines. */
  listener(reader: Reader, keepsLines: boolean, answered: () => void): RunListener & { close(): void } {
    const { messages_per_minute } = this.#request.role.rate_limit ?? {};
    const throttle = messages_per_minute === undefined ? undefined : new Throttle(messages_per_minute);
    return {
      capOf: (stream, firstByte) =>
        stream === "stdout" && firstByte === OPENING_BRACE ? this.#settings.max_line_bytes : CONSOLE_LINE_BYTES,
      line: (stream, bytes, cut) => {
        if (stream === "stderr") return this.line(stream, bytes, cut);
        const kept = keepsLines ? this.keep(bytes.toString("utf8")) : undefined;
        const kind = reader.read(bytes, cut);
        if (kind === "answer" || kind === "over") answered();
        return kind === "console" ? this.line(stream, bytes, cut) : (throttle?.taken() ?? kept);
      },
      close: () => throttle?.close(),
    };
  }

  /** Shows what was held back: nothing follows. */
  end(): void {
    for (const [stream, lines] of this.#held) void this.#shown(stream, lines);
    this.#held.clear();
  }

  stderrTail(): string {
    return this.#tail.text();
  }

  async close(): Promise<void> {
    await Promise.all(Object.values(this.#logs).map((log) => log.close()));
  }

  #path(name: string): string {
    const { output_directory, stamp } = this.#request;
    return join(output_directory, `${stamp.turn_id}.${stamp.run}.${name}`);
  }
}

const BUFFERED_BYTES = 262_144;
const CLOSE_MS = 1_000;

/**
 * Writes an agent's console lines to a file of at most `maxBytes`, created with the first line. If writing fails, the log is abandoned and the turn
 * continues.
 */
export class ConsoleLog {
  readonly #path: string;
  readonly #maxBytes: number;
  #bytes = 0;
  #file: WriteStream | undefined;
  #closed = false;
  #drained: Promise<void> | undefined;

  constructor(path: string, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
  }

  /** Appends a line. If the disk is behind, returns a promise to wait for before the next line. */
  write(line: string): Promise<void> | undefined {
    if (this.#closed || this.#bytes >= this.#maxBytes) return undefined;
    const room = this.#maxBytes - this.#bytes;
    const bytes = Buffer.from(`${line}\n`).subarray(0, room);
    this.#bytes += bytes.length;
    this.#file ??= this.#open();
    const file = this.#file;
    if (file === undefined || file.write(bytes)) return undefined;
    this.#drained ??= new Promise((resolve) => {
      const drained = () => {
        this.#drained = undefined;
        file.off("drain", drained);
        file.off("close", drained);
        resolve();
      };
      file.on("drain", drained);
      file.on("close", drained);
    });
    return this.#drained;
  }

  /** Settles once the file is written and closed, or after a second if the disk hangs. Never rejects. */
  async close(): Promise<void> {
    this.#closed = true;
    const file = this.#file;
    if (file === undefined || file.closed) return;
    const written = once(file, "close").catch(() => {});
    file.end();
    await settlesWithin(written, CLOSE_MS);
    file.destroy();
  }

  #open(): WriteStream | undefined {
    try {
      makeDirectory(dirname(this.#path));
    } catch {
      this.#closed = true;
      return undefined;
    }
    const file = createWriteStream(this.#path, { flags: "a", ...OWN, highWaterMark: BUFFERED_BYTES });
    file.on("error", () => {
      this.#closed = true;
    });
    return file;
  }
}
