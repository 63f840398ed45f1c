import type { Change } from "../kernel/mode.ts";
import type { JsonObject } from "../lib/json.ts";
import type { Failure } from "../protocol/failure.ts";
import type { Bus, StopReason } from "./bus.ts";
import type { FactInput } from "./facts.ts";
import type { Note } from "./recordings.ts";

/** How those who work for a session tell it that it cannot go on. */
export interface TroubleDoor {
  /** An expected failure: the session ends with it, and can be resumed. */
  fail(failure: Failure): void;
  /** Something threw: what the store could not read is such a failure, and anything else a bug of our own. */
  broken(error: unknown): void;
}

/** What those who work for a session may do with it: its turns, checks, children, timers, whoever watches or ends it. */
export interface SessionDoor extends TroubleDoor {
  readonly bus: Bus;
  /** Takes a fact in: it is decided at once, and what follows from it is in the next commit. */
  submit(input: FactInput): unknown;
  /** Records what an agent or a person said and what moves nothing. */
  note(note: Note): void;
  /** Stores a value that is no fact (a process's identity); true when it is durable, false if it will never be. */
  keep(change: Change): Promise<boolean>;
  /** Something that touches the world: done when all that was decided before it is durable. */
  afterwards(effect: () => void): void;
  /** There is something to write, something may start, or something has ended that was waited for. */
  schedule(): void;
  /** Ends the session resumably. Told again, it changes nothing. */
  stop(reason: StopReason, message: string, more?: JsonObject): void;
}
