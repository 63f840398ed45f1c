import type { Standing } from "../runtime/feed/standing.ts";
import { safeJson } from "./display.ts";
import type { Output } from "./terminal.ts";
import { startHeartbeat } from "./heartbeat.ts";
import { localize } from "./words.ts";
import type { Ending, Reporter } from "./reporter.ts";

/**
 * One JSON object a line, for programs: first `hello`, then every record as it is written, every question and every warning, a `heartbeat`
 * where nothing else is said for long, at last `result`. Nothing else is ever on that stream.
 */
export function jsonReporter(out: Output): Reporter {
  let heartbeat: NodeJS.Timeout | undefined;
  const say = (value: object) => {
    out.line(safeJson(value));
    heartbeat?.refresh();
  };
  return {
    begin: ({ session_id, version, requirement, workspace, resumed, now }) => {
      say({ type: "hello", bosun: version, session_id, requirement, workspace, resumed });
      heartbeat = startHeartbeat(() => say({ type: "heartbeat", session_id, ...standing(now()) }));
    },
    event(event) {
      if (event.kind === "record") say({ type: "record", sequence: event.sequence, ...event.record });
      else if (event.kind === "warning") say({ type: "warning", message: event.text });
    },
    asked: (waiting) => say({ type: "waiting", ...waiting }),
    childWaits: ({ session_id, waiting, holds }) => {
      for (const one of waiting) say({ type: "waiting", session_id, ...one });
      for (const hold of holds) say({ type: "hold", session_id, ...hold });
    },
    end: (ending) => say(result(out, ending)),
    close: () => clearInterval(heartbeat),
  };
}

/** Since when each turn runs is in its `turn_request`. */
function standing({ state, counts, turns, waiting, running, checking, held }: Standing): object {
  const under_way = running.map(({ turn_id, role_id, subject }) => ({ turn_id, role_id, ticket_id: subject }));
  return { state, counts, turns, waiting, running: under_way, checking, held };
}

function result(out: Output, ending: Ending): object {
  const here = (text: string | undefined) => (text === undefined ? undefined : localize(out, text));
  const {
    session_id,
    exit_code,
    state,
    outcome,
    message,
    tickets,
    usage,
    waiting,
    unheard,
    report,
    log,
    next,
    failure,
  } = ending;
  return {
    type: "result",
    exit_code,
    session_id,
    state,
    outcome,
    message: here(message),
    ...(failure ? { error: { ...failure, hint: here(failure.hint) } } : {}),
    tickets,
    ...(ending.result ? { result: ending.result } : {}),
    usage,
    waiting,
    unheard: unheard.map(({ said, again }) => ({ said, again: here(again) })),
    report,
    log,
    next: next.map(here),
  };
}
