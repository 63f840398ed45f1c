import type { Command, Outcome } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import { defined, type Json, type JsonObject } from "../../lib/json.ts";
import type { Draft } from "./draft.ts";
import type { Debater } from "./state.ts";

/** Closes the debate: withdraws open turns, drops the debaters that still owe an answer, and reports how it ended. */
export function finish(draft: Draft, outcome: Outcome, reason?: string): void {
  for (const { id, status } of draft.seated()) {
    draft.withdraw(id, "the session is closing");
    if (status !== "answered") draft.move(id, "dropped", reason);
  }
  draft.withdraw(undefined, "the session is closing");
  draft.moveDebate("finished");
  draft.patchDebate({ ended: { outcome, ...defined({ reason }) } });
  draft.command(closing(draft));
}

/** The command that closes a debate that has ended. */
export function closing(draft: Draft): Extract<Command, { do: "finish" }> {
  const { ended = { outcome: "failed" } } = draft.debate;
  return { do: "finish", ...ended, report: report(draft) };
}

/** The command that closes a session whose opening was refused. */
export function closingUnopened(): Extract<Command, { do: "finish" }> {
  return {
    do: "finish",
    outcome: "failed",
    reason: "invalid_input",
    report: { requirement: "", tickets: [], next_steps: [] },
  };
}

function report(draft: Draft): JsonObject {
  const { topic, judge, round, rounds, argued_by, verdict, ended } = draft.debate;
  return {
    requirement: from(topic, "/input/topic"),
    tickets: [],
    result: {
      ...defined({ verdict: verdict === undefined ? undefined : from(verdict), argued_by }),
      judge: judge.role_id,
      rounds: { held: round, of: rounds },
      debaters: draft.all().map(debaterResult),
    },
    next_steps: ended?.outcome === "done" ? ["bosun replay --verify"] : ["bosun log"],
  };
}

/** A debater's last status and opinion. */
function debaterResult(debater: Debater): Json {
  const last = debater.opinions.at(-1);
  return {
    role_id: debater.id,
    status: debater.status,
    ...defined({ reason: debater.reason, opinion: last === undefined ? undefined : from(last) }),
  };
}
