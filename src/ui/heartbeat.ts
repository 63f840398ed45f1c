/** A session that has been silent this long shows that it is alive, in ms: automatic builds kill silent processes. */
const HEARTBEAT_MS = 30_000;

/** Time until the first beat for a person, who wonders sooner after starting a session, in ms. */
export const FIRST_MS = 10_000;

/** Calls `beat` whenever it was not refreshed for that long. It does not keep the process alive. */
export class Heartbeat {
  readonly #beat: () => void;
  #timer: NodeJS.Timeout;

  /** `first_ms` is the time until the first beat. */
  constructor(beat: () => void, first_ms: number = HEARTBEAT_MS) {
    this.#beat = beat;
    this.#timer = setInterval(() => this.#first(), first_ms).unref();
  }

  refresh(): void {
    this.#timer.refresh();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #first(): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(this.#beat, HEARTBEAT_MS).unref();
    this.#beat();
  }
}
