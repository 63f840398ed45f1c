import type { TurnAbout } from "../runtime/bus.ts";
import type { Standing } from "../runtime/feed/standing.ts";
import { EVENTS_VERSION, eventLine, type JsonEvent } from "./events.ts";
import type { Output } from "./terminal.ts";
import { shortHold } from "./hold-words.ts";
import { localize } from "./words.ts";
import { type Ending, HEARTBEAT_MS, type Reporter } from "./reporter.ts";

/** Writes one JSON object per line, for programs, as SPEC.md promises: `hello`, then events, last `result`. Nothing else is on that stream. */
export function jsonReporter(out: Output): Reporter {
  let heartbeat: NodeJS.Timeout | undefined;
  const say = (event: JsonEvent) => {
    out.line(eventLine(event));
    heartbeat?.refresh();
  };
  return {
    begin: ({ session_id, version, requirement, workspace, resumed, now }) => {
      say({ type: "hello", schema: EVENTS_VERSION, bosun: version, session_id, requirement, workspace, resumed });
      const beat = () => say({ type: "heartbeat", session_id, ...standing(now()) });
      heartbeat = setInterval(beat, HEARTBEAT_MS).unref();
    },
    event(event) {
      const { kind } = event;
      if (kind === "record") say({ type: kind, sequence: event.sequence, ...event.record });
      else if (kind === "warning") say({ type: kind, message: event.text });
      else if (kind === "turn_started") say({ type: kind, ...turnOf(event), pid: event.pid });
      else if (kind === "turn_ended") say({ type: kind, ...turnOf(event) });
      else if (kind === "console") say({ type: kind, ...turnOf(event), stream: event.stream, text: event.text });
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

function turnOf({ turn_id, run, role_id, subject }: TurnAbout): object {
  return { turn_id, run, role_id, ticket_id: subject };
}

/** The start time of each turn is in its `turn_request`. */
function standing({ state, counts, turns, usage, waiting, running, checking, held }: Standing): object {
  const under_way = running.map(({ turn_id, role_id, subject }) => ({ turn_id, role_id, ticket_id: subject }));
  return { state, counts, turns, usage, waiting, running: under_way, checking, held: held.map(shortHold) };
}

function result(out: Output, ending: Ending): JsonEvent {
  const here = (text: string | undefined) => (text === undefined ? undefined : localize(out, text));
  const { failure } = ending;
  return {
    type: "result",
    exit_code: ending.exit_code,
    session_id: ending.session_id,
    state: ending.state,
    outcome: ending.outcome,
    message: here(ending.message),
    ...(failure ? { error: { ...failure, hint: here(failure.hint) } } : {}),
    tickets: ending.tickets.map(({ cause, waits_for: _a, merging: _b, ...ticket }) => ({
      ...ticket,
      said: cause?.words,
    })),
    interrupted_turns: ending.interrupted_turns,
    ...(ending.result ? { result: ending.result } : {}),
    usage: ending.usage,
    waiting: ending.waiting,
    unheard: ending.unheard.map(({ said, again }) => ({ said, again: here(again) })),
    report: ending.report,
    log: ending.log,
    next: ending.next.map(here),
  };
}
