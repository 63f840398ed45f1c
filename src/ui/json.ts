import { safeJson } from "./display.ts";
import type { Output } from "./terminal.ts";
import type { Ending, Reporter } from "./reporter.ts";

/**
 * One JSON object a line, for programs: first `hello`, then every record as it is written, every question and every warning, at last `result`.
 * Nothing else is ever on that stream.
 */
export function jsonReporter(out: Output): Reporter {
  const say = (value: object) => out.line(safeJson(value));
  return {
    begin: ({ session_id, version, requirement, workspace, resumed }) =>
      say({ type: "hello", bosun: version, session_id, requirement, workspace, resumed }),
    event(event) {
      if (event.kind === "record") say({ type: "record", sequence: event.sequence, ...event.record });
      else if (event.kind === "warning") say({ type: "warning", message: event.text });
    },
    asked: (waiting) => say({ type: "waiting", ...waiting }),
    childWaits: ({ session_id, waiting, holds }) => {
      for (const one of waiting) say({ type: "waiting", session_id, ...one });
      for (const hold of holds) say({ type: "hold", session_id, ...hold });
    },
    end: (ending) => say(result(ending)),
  };
}

function result(ending: Ending): object {
  const { session_id, exit_code, state, outcome, message, tickets, usage, waiting, report, log, next, failure } =
    ending;
  return {
    type: "result",
    exit_code,
    session_id,
    state,
    outcome,
    message,
    ...(failure ? { error: failure } : {}),
    tickets,
    ...(ending.result ? { result: ending.result } : {}),
    usage,
    waiting,
    report,
    log,
    next,
  };
}
