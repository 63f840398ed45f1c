import { setTimeout as delay } from "node:timers/promises";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { EXIT_DONE } from "../../runtime/exit.ts";
import { fittedScreen, type Part } from "../../ui/parts.ts";
import { Screen } from "../../ui/screen.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { watchSignals } from "../context/signals.ts";

/** A status that was read. `parts` renders it for the current moment, because durations grow. */
export interface Look {
  readonly parts: () => readonly Part[];
  /** Whether nothing will change any more. */
  readonly isOver: boolean;
}

/** How often to poll for changes, and to show the status again if there are none, in ms. */
const LOOK_EVERY_MS = 100;
const SHOW_EVERY_MS = 1_000;

/** Reading a very large session takes long: the pause afterwards is this many times longer. */
const PAUSE = 6;

/**
 * Keeps a status on the screen: reads it again when `version` changes, and repaints it in place. Ends when the session is over, on Ctrl-C,
 * and with the terminal.
 */
export async function watchStatus(
  { terminal: { out }, leave }: CommandContext,
  version: () => string | number,
  read: () => Promise<Fallible<Look>>,
): Promise<Exit> {
  const enough = new AbortController();
  const signals = watchSignals({ stop: () => enough.abort() }, leave, ["SIGINT"]);
  const ended = AbortSignal.any([enough.signal, out.ended]);
  const screen = new Screen(out);
  let known: string | undefined;
  let look: Look | undefined;
  let due = 0;
  try {
    while (!ended.aborted) {
      const began = performance.now();
      const now = `${version()}`;
      if (now !== known || look === undefined) {
        const found = await read();
        if (!found.ok) return found;
        look = found.value;
        known = now;
        due = began;
      }
      if (began >= due || screen.isStale) {
        screen.paint(fittedScreen(look.parts(), screen.rows, screen.columns));
        due = began + SHOW_EVERY_MS;
      }
      if (look.isOver) break;
      const pause = Math.max(LOOK_EVERY_MS, PAUSE * (performance.now() - began));
      await delay(pause, undefined, { signal: ended }).catch(() => {});
    }
    return ok(EXIT_DONE);
  } finally {
    screen.close();
    signals.restore();
  }
}
