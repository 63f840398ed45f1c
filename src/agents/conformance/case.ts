import type { ReadOutput } from "../cli/dialects/dialect.ts";
import type { TurnRequest } from "../../kernel/agent.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { RunEnd } from "../cli/process.ts";

export type Seat = "manager" | "worker";

/** The outcome of one start of the program under test. */
export interface Trial {
  readonly request: TurnRequest;
  readonly end: RunEnd;
  readonly heard: ReadOutput;
  /** Number of lines after the answer: repeated or late messages. */
  readonly surplus: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly elapsed_ms: number;
}

/** Returns what is wrong, in a sentence; undefined if nothing is. */
export type Inspection = (trial: Trial) => string | undefined;

/** How the input reaches the program: as the request line in pieces of `piece_bytes`, or as other bytes. */
export interface Delivery {
  readonly piece_bytes?: number;
  readonly pause_ms?: number;
  /** Replaces the request line. */
  readonly bytes?: (line: Buffer) => Buffer;
}

/** One test for a program that speaks the envelope dialect. */
export interface Case {
  readonly name: string;
  readonly what: string;
  /** A program that fails a `must` does not conform; `should` is advice. */
  readonly level: "must" | "should";
  /** The turn's part of the request: expects, message, context. */
  readonly turn: JsonObject;
  readonly delivery?: Delivery;
  /** Environment variables that the program does not get. */
  readonly without?: readonly string[];
  readonly attempt?: number;
  /** Starts the program twice at once. */
  readonly twice?: boolean;
  /** Ends the program with SIGTERM as soon as it has its request. */
  readonly ends?: boolean;
  readonly inspect: Inspection;
}
