import { safeLine, safeText } from "./display.ts";
import type { Reporter } from "./reporter.ts";
import type { Terminal } from "./terminal.ts";
import { commandFor, showWaiting, unheardLines } from "./waiting.ts";

/** Says nothing of a session that went well, but for warnings; of any other, why it ended and what to do, as a message. */
export function silentReporter({ err }: Pick<Terminal, "err">, bosun: string): Reporter {
  return {
    begin() {},
    event(event) {
      if (event.kind === "warning") err.line(`Warning: ${safeLine(event.text)}`);
    },
    asked() {},
    childWaits() {},
    end({ exit_code, session_id, failure, message, waiting, unheard, next }) {
      for (const line of unheardLines(unheard)) err.line(line);
      if (exit_code === 0) return;
      if (failure) err.line(`${session_id}: ${safeText(failure.message)}`);
      if (message !== undefined) err.line(`${session_id}: ${safeText(message)}`);
      for (const one of waiting) showWaiting(err, bosun, session_id, one);
      const shown = new Set(waiting.map((one) => commandFor(bosun, session_id, one)));
      for (const command of next) if (!shown.has(command)) err.line(`  ${command}`);
    },
    close() {},
  };
}
