import type { FactOf } from "../../kernel/mode.ts";
import type { Draft } from "./draft.ts";
import { closing, closingUnopened, finish } from "./finish.ts";
import { endRound } from "./rounds.ts";
import type { Debater } from "./state.ts";
import { drop } from "./trouble.ts";

/** Handles a person's command for the whole debate or for one debater. A note reaches every turn that is requested later. */
export function onUserCommand(draft: Draft, fact: FactOf<"user_command">): void {
  const id = fact.payload.ticket_id;
  const debater = id === undefined ? undefined : draft.debater(id);
  if (id !== undefined && (!debater || debater.status === "dropped")) {
    const seated = draft.seated().map((one) => one.id);
    const hint = seated.length > 0 ? `still there: ${seated.join(", ")}` : "nobody is left: the judge concludes";
    draft.forbid(`"${id}" is not in the debate`, hint);
    return;
  }
  switch (fact.payload.command) {
    case "tell":
      if (!fact.payload.text) draft.forbid("nothing was told", "bosun tell <session> TEXT");
      else if (debater && !isAskedAgain(draft, debater))
        draft.forbid(`"${debater.id}" is asked nothing any more`, "tell the whole debate: bosun tell <session> TEXT");
      else if (debater) draft.patchDebater(debater.id, { notes: [...(debater.notes ?? []), fact.sequence] });
      else draft.patchDebate({ notes: [...draft.debate.notes, fact.sequence] });
      return;
    case "cancel":
      if (debater) drop(draft, debater.id, "cancelled");
      else finish(draft, "cancelled", "cancelled");
      return;
    case "retry":
      draft.forbid("a debate retries by itself", "bosun resume asks a judge again that failed");
      return;
    case "pause":
    case "resume":
    case "limits":
    case "release":
    case "stop":
      return;
  }
}

/** Whether a debater can still get a turn: not after its answer in the last round. */
function isAskedAgain({ debate }: Draft, { status }: Debater): boolean {
  return debate.argued_by === undefined && (status !== "answered" || debate.round < debate.rounds);
}

/** The runtime has stopped the session without closing it. */
export function onSessionStopped(draft: Draft, fact: FactOf<"session_stopped">): void {
  if (fact.payload.reason === "no_progress") {
    finish(draft, "failed", "no_progress");
    return;
  }
  const { phase } = draft.debate;
  if (phase === "debating" || phase === "judging") draft.patchDebate({ interrupted: phase });
  draft.moveDebate(fact.payload.reason === "waiting" ? "left_waiting" : "stopped");
}

/** Resumes the session in the phase that it left. A judge whose retries were spent is asked again. */
export function onSessionRecovered(draft: Draft): void {
  const { interrupted, judge } = draft.debate;
  if (interrupted !== undefined) {
    draft.moveDebate(`resumed_${interrupted}`);
    draft.patchDebate({ interrupted: undefined });
  }
  if (judge.put_again?.waits_for === "resume") draft.offer(undefined, judge.put_again);
  // The last awaited debater may have been dropped while the session was stopped.
  endRound(draft);
}

/** A closed debate cannot continue. The fact opens the session in the ledger, so it is closed again as before. */
export function onSessionReopened(draft: Draft): void {
  draft.forbid("a debate that has ended cannot go on", "begin another: bosun debate");
  if (!draft.isOpen) draft.command(closingUnopened());
  else if (draft.debate.phase === "closed") draft.command(closing(draft));
}
