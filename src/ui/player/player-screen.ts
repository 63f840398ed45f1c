import { setImmediate as others, setTimeout as delay } from "node:timers/promises";
import type { Terminal } from "../terminal.ts";
import { pageRows } from "../tui/frame.ts";
import type { Screen } from "../tui/screen.tsx";
import type { Key } from "../keyboard/decoder.ts";
import { playerFrame, playerList, type PlayerScene, type ProofState } from "./frame.ts";
import { handlePlayerKey } from "./keys.ts";
import { advance, afterRead, instantOf, type Player } from "./player.ts";
import type { Recording } from "./recording.ts";
import { isComplete } from "./tape.ts";

/** How often changes are drawn, in ms. */
const DRAW_MS = 100;

/** How long to read before handling keys again, in ms. */
const SLICE_MS = 10;

/** How often to poll for new records of a running session, in ms. */
const LOOK_MS = 1_000;

const PROVING: ProofState = { state: "proving", problems: [] };

export interface PlayerParts {
  readonly terminal: Terminal;
  readonly recording: Recording;
  /** The person's name for the session or the folder. */
  readonly name: string;
  readonly begin: Player;
  /** Proves the log as far as it has been written. */
  readonly prove: () => Promise<ProofState>;
}

/** The replay player at a terminal: it reads the log, plays it and handles keys until the person leaves. */
export class PlayerScreen {
  readonly #parts: PlayerParts;
  readonly #left = new AbortController();
  #player: Player;
  #proof: ProofState = PROVING;
  #proving: Promise<ProofState> | undefined;
  #screen: Screen | undefined;
  #isChanged = true;
  /** When the clock was last read, in ms. */
  #looked = performance.now();
  /** What was read to show the record at `place`. */
  #told: (Pick<PlayerScene, "events" | "record"> & { readonly place: number }) | undefined;

  constructor(parts: PlayerParts) {
    this.#parts = parts;
    this.#player = parts.begin;
  }

  /** Shows the player until the person leaves or `enough` is aborted. Resolves to its last state. */
  async run(enough: AbortSignal): Promise<Player> {
    const { recording } = this.#parts;
    const ended = AbortSignal.any([enough, this.#left.signal]);
    this.#readMore();
    const { Screen } = await import("../tui/screen.tsx");
    this.#looked = performance.now();
    this.#screen = new Screen({
      terminal: this.#parts.terminal,
      frame: (columns, rows) => playerFrame(this.#scene(), columns, rows),
      onKey: (key) => this.#key(key),
    });
    this.#prove();
    const drawing = setInterval(() => this.#tick(), DRAW_MS);
    try {
      while (!ended.aborted) {
        while (!isComplete(recording.tape) && !ended.aborted) {
          this.#readMore();
          await others();
        }
        await delay(LOOK_MS, undefined, { signal: ended }).catch(() => {});
        const grew = recording.tape.grows;
        recording.lookAgain();
        if (grew && !recording.tape.grows) this.#prove();
      }
    } finally {
      clearInterval(drawing);
      this.#screen.close();
    }
    return this.#player;
  }

  #prove(): void {
    const proving = this.#parts.prove();
    this.#proving = proving;
    this.#proof = PROVING;
    void proving.then((proof) => {
      if (this.#proving === proving) this.#show(this.#player, proof);
    });
  }

  #readMore(): void {
    const { recording } = this.#parts;
    recording.readMore(SLICE_MS);
    this.#show(afterRead(this.#player, recording.tape));
  }

  #tick(): void {
    const now = performance.now();
    if (this.#player.playing && this.#screen?.isOpen === true)
      this.#show(advance(this.#player, this.#parts.recording.tape, now - this.#looked));
    this.#looked = now;
    if (!this.#isChanged) return;
    this.#isChanged = this.#screen?.draw() === false;
  }

  #show(player: Player, proof = this.#proof): void {
    this.#player = player;
    this.#proof = proof;
    this.#isChanged = true;
  }

  #key(key: Key): void {
    const { recording, terminal } = this.#parts;
    const has = (place: number, text: string) => recording.has(place, text);
    const shown = { ...playerList(this.#scene()), rows: pageRows(terminal.out.stream.rows), has };
    const { player, action } = handlePlayerKey(this.#player, key, recording.tape, shown);
    this.#player = player;
    if (action === "leave") return this.#left.abort();
    if (action === "suspend") {
      this.#screen?.suspend();
      this.#looked = performance.now();
      return;
    }
    this.#isChanged = this.#screen?.draw() === false;
  }

  #scene(): PlayerScene {
    const { recording, name } = this.#parts;
    const { place } = this.#player;
    if (this.#told?.place !== place)
      this.#told = {
        place,
        events: recording.eventsAt(place),
        record: recording.shown(place),
      };
    return {
      ...this.#told,
      player: this.#player,
      tape: recording.tape,
      name,
      presentation: recording.presentation,
      model: recording.modelAt(place),
      now: instantOf(this.#player, recording.tape),
      story: (ticket_id) => recording.storyAt(place, ticket_id),
      proof: this.#proof,
    };
  }
}
