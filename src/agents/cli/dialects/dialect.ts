import type { Answer, Permission, PermissionRequest, TurnEvent, TurnRequest } from "../../../kernel/agent.ts";
import type { Failure } from "../../../protocol/failure.ts";
import type { Usage } from "../../../protocol/payload.ts";
import type { Conversation, QuotaWindow } from "../../../protocol/record.ts";
import type { Refusal } from "../../../protocol/refusal.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import type { ContentCheck } from "../../content-schema.ts";
import type { RunEnd } from "../process.ts";

/**
 * How to talk to a program. Each dialect is one file, named in `index.ts`. `agent.ts` runs the process; a dialect knows the program's flags, its
 * lines and its error messages.
 */
export type Dialect = (turn: DialectTurn) => ProcessPlan;

export interface DialectTurn {
  readonly request: TurnRequest;
  /** Renders the request as text, for a program that speaks no envelopes. */
  readonly prompts: Prompts;
  readonly environment: Readonly<Record<string, string>>;
  /** A directory for this process alone, removed once it has ended: for its TMPDIR, and for files that its flags name. */
  readonly scratch: () => string;
  /** In ms since 1970. */
  readonly now: () => number;
  /** Emits events that come before the answer. */
  readonly emit: (event: TurnEvent) => void;
  /** Refuses an answer whose content does not fit the role's `output_schema`. */
  readonly check?: ContentCheck | undefined;
  /** Shows and keeps a line that says what the program does: `$ npm test`, `edit src/limit.ts`. */
  readonly show: (text: string) => void;
  /** Set in the second process of a turn whose first answer could not be read. */
  readonly repair?: Repair;
}

/** Asks once more, in the same conversation. */
export interface Repair {
  readonly conversation: Conversation;
  readonly prompt: string;
}

/** The same turn without the conversation that it was to continue. */
export function inNewConversation({ conversation: _none, ...request }: TurnRequest): TurnRequest {
  return request;
}

/** One process of a turn, as its dialect specifies it. */
export interface ProcessPlan {
  readonly command: readonly string[];
  /** Variables in addition to the turn's environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Written to stdin once the process is on record. */
  readonly input: string;
  /** Keeps stdin open after `input`, until the reader closes it. */
  readonly converses?: boolean;
  /** Keeps input and output in a file of its own, because nobody reads the protocol. */
  readonly keepsLines?: boolean;
  readonly reader: Reader;
}

/** Takes the lines of one process. The bytes of a line are only valid during the call. */
export interface Reader {
  /** Called before the first line if the program converses. */
  connect?(port: Port): void;
  /**
   * Takes a line of stdout and returns what it is: text for people, the answer, another message, or a message after which no answer can come, so
   * that the turn is over. After an answer or an end, the process has `answer_grace_ms` to exit.
   */
  read(line: Buffer, cut: boolean): "console" | "message" | "answer" | "over";
  /** Returns everything that was said. Called once the process is gone, however it ended. */
  end(end: RunEnd, stderr_tail: string): ReadOutput;
}

/** A reader's channel to a program that converses. */
export interface Port {
  readonly say: (text: string) => void;
  /** Ends its stdin, so that it exits. */
  readonly close: () => void;
  /** Asks a person; the turn's time limits are suspended meanwhile. */
  readonly permit: (request: PermissionRequest) => Promise<Permission>;
  /** Takes a person's notes from now on, until `close`: the program can be told while it works. */
  readonly hear: (take: (note: string) => void) => void;
}

export interface ReadOutput {
  readonly answer?: Answer | undefined;
  readonly refused: readonly Refusal[];
  /** Why there is no valid answer. Only for a process that exited by itself, or said that its turn is over: other ends have their own reasons. */
  readonly failure?: Failure | undefined;
  /** The last error that the program told and may have recovered from. It explains a turn that then ran out of time. */
  readonly last_error?: string | undefined;
  /** Whether an exit code other than 0 fails the turn despite its answer, as SPEC.md says of programs that speak envelopes. */
  readonly exitCounts?: boolean;
  /** The usage of this process alone. `input_tokens` includes `cached_tokens`; numbers that the program does not report are left out. */
  readonly usage?: Usage | undefined;
  readonly conversation?: Conversation | undefined;
  /** The latest state of each rate-limit window that the program reported. Windows without a percentage or a reset time are left out. */
  readonly quota?: readonly QuotaWindow[] | undefined;
  /** Asks once more with this prompt, if the conversation is known. */
  readonly repair?: string | undefined;
  /** Why the conversation cannot be continued. The turn starts once more in a new one. */
  readonly gone?: string | undefined;
}
