import type { SessionEvent, TurnAbout } from "../runtime/bus.ts";
import { formatDuration } from "../lib/durations.ts";
import { clipped } from "./display.ts";
import type { RecordLine } from "./record-event.ts";

/** Maximum number of console lines of a turn at once; then one per second, so that a chatty agent does not flood the screen. */
const BURST = 3;
const REFILL_MS = 1_000;

/** The end of a shorter turn is not shown, in ms: the record of its answer is enough. */
const LONG_MS = 1_000;

/** Maximum width of a console line: this share of the terminal, so that it takes one row, and at most this many columns. */
const WIDTH_SHARE = 0.6;
const WIDEST = 200;

interface ShownTurn {
  /** When it was given, in milliseconds since 1970. */
  readonly since: number;
  /** Number of lines it may show, and when that was last refilled. */
  allowed: number;
  refilled: number;
  skipped: number;
}

/** The context of a turn's event; times in ms since 1970. */
interface TurnContext {
  readonly session_id: string;
  readonly now: number;
  /** When the turn was given, if known. */
  readonly since: number | undefined;
  /** The terminal's columns. */
  readonly width: number;
}

/** Shows when turns start and end, and what their agents print. */
export class TurnLines {
  readonly #turns = new Map<string, ShownTurn>();

  tell(event: Extract<SessionEvent, TurnAbout>, { session_id, now, since, width }: TurnContext): RecordLine[] {
    const { role_id, subject, turn_id } = event;
    const line = (text: string, command?: string): RecordLine[] => [{ ticket: subject, text, command, style: "dim" }];
    // A viewer that joined later has not seen the start.
    const turn = this.#turns.get(turn_id) ?? { since: since ?? now, allowed: BURST, refilled: now, skipped: 0 };
    this.#turns.set(turn_id, turn);
    switch (event.kind) {
      case "turn_started":
        // The request of a turn without a subject has a line of its own.
        return subject === undefined ? [] : line(`${role_id} started`);
      case "console": {
        const room = Math.min(WIDEST, Math.floor(width * WIDTH_SHARE)) - role_id.length - 3;
        // The embedded worker marks the output of its commands in the same way.
        const text = clipped(event.text.replace(/^\| /, ""), room);
        return text === "" || !isAllowed(turn, now) ? [] : line(`${role_id} | ${text}`);
      }
      case "turn_ended": {
        this.#turns.delete(turn_id);
        const { skipped, since: begun } = turn;
        const log = `bosun log ${session_id}${subject === undefined ? "" : ` ${subject}`}`;
        return [
          ...(skipped > 0 ? line(`${role_id} | … ${skipped} more lines:`, log) : []),
          ...(now - begun >= LONG_MS ? line(`${role_id} ended after ${formatDuration(now - begun)}`) : []),
        ];
      }
    }
  }
}

/** Whether the turn may show one more line. If not, the line is counted as skipped. */
function isAllowed(turn: ShownTurn, now: number): boolean {
  const refills = Math.floor((now - turn.refilled) / REFILL_MS);
  turn.allowed = Math.min(BURST, turn.allowed + refills);
  turn.refilled += refills * REFILL_MS;
  if (turn.allowed > 0) {
    turn.allowed -= 1;
    return true;
  }
  turn.skipped += 1;
  return false;
}
