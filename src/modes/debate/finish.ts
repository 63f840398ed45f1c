import type { Command, Outcome } from "../../kernel/mode.ts";
import { from } from "../../kernel/references.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import type { Draft } from "./draft.ts";
import type { Debater } from "./state.ts";

/** Closes the debate: what is under way is withdrawn, who still owed an answer is dropped, and the report says how it ended. */
export function finish(draft: Draft, outcome: Outcome, reason?: string): void {
  for (const { id, status } of draft.seated()) {
    draft.withdraw(id, "the session is closing");
    if (status !== "answered") draft.move(id, "dropped", reason);
  }
  draft.withdraw(undefined, "the session is closing");
  draft.moveDebate("finished");
  draft.patchDebate({ ended: { outcome, ...(reason === undefined ? {} : { reason }) } });
  draft.command(closing(draft));
}

/** The end of a debate that has ended, as it was and is again. */
export function closing(draft: Draft): Extract<Command, { do: "finish" }> {
  const { ended = { outcome: "failed" } } = draft.debate;
  return { do: "finish", ...ended, report: report(draft) };
}

/** The end of a session that never became a debate, for a reason that stands in its own refusal. */
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
    requirement: from(topic, "/input/topic") as unknown as Json,
    tickets: [],
    result: {
      ...(verdict === undefined ? {} : { verdict: from(verdict) as unknown as Json }),
      judge: judge.role_id,
      rounds: { held: round, of: rounds },
      ...(argued_by === undefined ? {} : { argued_by }),
      debaters: draft.all().map(standing),
    },
    next_steps: ended?.outcome === "done" ? ["bosun replay --verify"] : ["bosun log"],
  };
}

/** Where a debater stood at the end, and whether it was still there. */
function standing(debater: Debater): Json {
  const last = debater.opinions.at(-1);
  return {
    role_id: debater.id,
    status: debater.status,
    ...(debater.reason === undefined ? {} : { reason: debater.reason }),
    ...(last === undefined ? {} : { opinion: from(last) as unknown as Json }),
  };
}
