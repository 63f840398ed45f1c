import type { Answer, Permission, PermissionRequest, TurnEvent, TurnRequest } from "../../../kernel/agent.ts";
import type { Failure } from "../../../protocol/failure.ts";
import type { Usage } from "../../../protocol/payload.ts";
import type { Conversation, QuotaWindow } from "../../../protocol/record.ts";
import type { Refusal } from "../../../protocol/refusal.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import type { RunEnd } from "../process.ts";

/**
 * How a program is spoken to: one file for each, named in `index.ts`. `agent.ts` runs the process; a dialect knows the program's flags,
 * its lines and its words for what went wrong.
 */
export type Dialect = (turn: DialectTurn) => Spoken;

/** What a dialect gets for each process of a turn. */
export interface DialectTurn {
  readonly request: TurnRequest;
  /** The request as text, for a program that speaks no envelopes. */
  readonly prompts: Prompts;
  /** The environment that the process gets. */
  readonly environment: Readonly<Record<string, string>>;
  /** A directory of this process alone, removed when it has ended: for its TMPDIR, and for files that its flags name. */
  readonly scratch: () => string;
  /** Emits what comes before the answer. */
  readonly emit: (event: TurnEvent) => void;
  /** Shows and keeps a line that says what the program does: `$ npm test`, `edit src/limit.ts`. */
  readonly show: (text: string) => void;
  /** Removes secrets from text that is shown. */
  readonly redact: (text: string) => string;
  /** Set in the second process of a turn whose first gave an answer that could not be read. */
  readonly repair?: Repair;
}

/** Asks once more, in the same conversation. */
export interface Repair {
  readonly conversation: Conversation;
  readonly prompt: string;
}

/** One process of a turn, as its dialect wants it. */
export interface Spoken {
  /** The program and all its arguments. */
  readonly command: readonly string[];
  /** Variables beside the turn's environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** What it is given on stdin once it is on record. */
  readonly input: string;
  /** Keeps stdin open after `input`, until the reader closes it. */
  readonly converses?: boolean;
  /** Keeps what is said and heard in a file of its own, because it is a protocol that nobody reads. */
  readonly keepsLines?: boolean;
  readonly reader: Reader;
}

/** Takes the lines of one process. The bytes of a line are valid during the call only. */
export interface Reader {
  /** Called before any line if the program converses. */
  connect?(port: Port): void;
  /** Whether a line of stdout that begins with this byte may be as long as a message. */
  mayBeLong(firstByte: number): boolean;
  /** Takes a line of stdout and tells what it is: text for people, the answer, or another message. */
  read(line: Buffer, cut: boolean): "console" | "message" | "answer";
  /** What was said in all. Called once, when the process is gone, however it ended. */
  end(end: RunEnd, stderr_tail: string): Heard;
}

/** A reader's way back to a program that converses. */
export interface Port {
  readonly say: (text: string) => void;
  /** Ends its stdin: it is to exit. */
  readonly close: () => void;
  /** Asks a person; the turn's limits do not run meanwhile. */
  readonly permit: (request: PermissionRequest) => Promise<Permission>;
}

/** What a process said. */
export interface Heard {
  readonly answer?: Answer | undefined;
  readonly refused: readonly Refusal[];
  /** Why there is no answer that counts. Only for a process that exited by itself: other ends have reasons of their own. */
  readonly failure?: Failure | undefined;
  /** The answer counts whatever the exit code is. */
  readonly anyExit?: boolean;
  /** Of this process alone. `input_tokens` includes `cached_tokens`; a number that the program does not tell is left out. */
  readonly usage?: Usage | undefined;
  readonly conversation?: Conversation | undefined;
  /** The latest state of each window of the account that the program told. One without a percentage or a reset is left out. */
  readonly quota?: readonly QuotaWindow[] | undefined;
  /** Asks once more with this prompt, if the conversation is known. */
  readonly repair?: string | undefined;
  /** Why the conversation cannot be gone on with. The turn begins once more, in a new one. */
  readonly gone?: string | undefined;
}
