import { causeLines } from "./ending.ts";
import { safeLine, wrappedLines } from "./display.ts";
import type { Reporter } from "./reporter.ts";
import type { Terminal } from "./terminal.ts";
import { commandFor, showWaiting, unheardLines } from "./waiting.ts";
import { localize } from "./words.ts";

/** Shows only the warnings of a session that ends well; for any other, also why it ended and what to do. */
export function silentReporter({ err }: Pick<Terminal, "err">): Reporter {
  return {
    begin() {},
    event(event) {
      if (event.kind === "warning") err.line(`Warning: ${safeLine(event.text)}`);
    },
    asked() {},
    childWaits() {},
    end(ending) {
      const { exit_code, session_id, failure, cause, message, waiting, unheard, next } = ending;
      for (const line of unheardLines(err, unheard)) err.line(line);
      if (exit_code === 0) return;
      for (const line of causeLines(ending, err)) err.line(line);
      for (const text of [failure?.message, cause === undefined ? message : undefined]) {
        if (text === undefined) continue;
        for (const line of wrappedLines(`${session_id}: ${localize(err, text)}`, err.width, 0)) err.line(line);
      }
      for (const one of waiting) showWaiting(err, session_id, one);
      const shown = new Set(waiting.map((one) => commandFor(session_id, one)));
      for (const command of next) if (!shown.has(command)) err.line(`  ${localize(err, command)}`);
    },
    close() {},
  };
}
