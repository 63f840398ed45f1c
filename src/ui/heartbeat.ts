/** A session that says nothing for so long shows that it lives, in ms; an automatic build kills what is silent. */
const HEARTBEAT_MS = 30_000;

/** A person who has just begun a session wonders sooner, in ms. */
export const FIRST_MS = 10_000;

/** Calls `beat` whenever it was not refreshed for so long. It keeps no process alive. */
export class Heartbeat {
  readonly #beat: () => void;
  #timer: NodeJS.Timeout;

  /** `first_ms`: how long until the first beat. */
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
