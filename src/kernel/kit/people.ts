import { withArticle } from "../../lib/article.ts";
import type { FactOf } from "../mode.ts";
import type { Patch } from "../step.ts";
import type { Draft } from "./draft.ts";
import { type Holders, RESUME, withdraw } from "./holder.ts";
import { isStopped } from "./lifecycles.ts";
import type { Kit } from "./rules.ts";
import type { Self, Subject } from "./state.ts";

/** Handles a person's command for the whole session or for one subject. A note reaches every turn that is requested later. */
export function onCommand<S extends Self, U extends Subject>(
  kit: Kit<S, U>,
  draft: Draft<S, U>,
  { payload: { command, ticket_id: id, text }, sequence }: FactOf<"user_command">,
): void {
  const { descriptor, rules } = kit;
  const { name, seat, events } = descriptor;
  const one = draft.subject(id);
  if (command === "retry") return retry(kit, draft, id);
  if (id !== undefined && !(one && draft.accepts(one, events.left))) {
    const live = draft.all().flatMap((other) => (draft.accepts(other, events.left) ? [other.id] : []));
    const nobody = seat === undefined ? "nobody is left" : `nobody is left: the ${seat} concludes`;
    return draft.out.forbid(
      `"${id}" is not in the ${name}`,
      live.length > 0 ? `still there: ${live.join(", ")}` : nobody,
    );
  }
  switch (command) {
    case "tell":
      if (text && one && rules.canBeTold?.(draft, one) === false)
        return draft.out.forbid(
          `"${one.id}" is asked nothing any more`,
          `tell the whole ${name}: bosun tell <session> TEXT`,
        );
      return tell(draft, id, text, sequence);
    case "cancel":
      if (!one) return draft.finish("cancelled", "cancelled");
      withdraw(draft, one.id, "cancelled");
      if (rules.drop) return rules.drop(draft, one, "cancelled");
      return draft.move(one.id, events.left, "cancelled");
    case "pause":
    case "resume":
    case "limits":
    case "release":
    case "stop":
      return;
  }
}

/** Keeps a person's note for the turns of a holder. */
export function tell(holders: Holders, id: string | undefined, text: string | undefined, sequence: number): void {
  if (!text) return holders.out.forbid("nothing was told", "bosun tell <session> TEXT");
  holders.patchHolder(id, { notes: [...(holders.holder(id)?.notes ?? []), sequence] });
}

function retry<S extends Self, U extends Subject>(
  { descriptor, rules }: Kit<S, U>,
  draft: Draft<S, U>,
  id: string | undefined,
): void {
  const { name, subject, seat = subject, events } = descriptor;
  const { retried } = events;
  const one = draft.subject(id);
  if (retried === undefined)
    return draft.out.forbid(`${withArticle(name)} retries by itself`, `bosun resume asks a ${seat} again that failed`);
  if (!one || !draft.accepts(one, retried))
    return draft.out.forbid(
      id === undefined
        ? `retry needs a ${subject}`
        : `the ${subject} "${id}" is ${one?.status ?? "unknown"} and cannot be retried`,
      "see bosun status",
    );
  draft.patch({ ended: undefined } as Patch<Self> as Patch<S>);
  if (rules.retry) rules.retry(draft, one);
  else draft.move(one.id, retried);
}

/** The runtime has stopped the session without closing it. */
export function onStopped<S extends Self, U extends Subject>(
  draft: Draft<S, U>,
  { payload: { reason } }: FactOf<"session_stopped">,
): void {
  const { ended, phase } = draft.self;
  // A session that was reopened without effect is closed as before.
  if (reason === "no_progress") return draft.finish(ended?.outcome ?? "failed", ended ? ended.reason : "no_progress");
  if (!isStopped(phase)) draft.patch({ interrupted: phase } as Patch<Self> as Patch<S>);
  draft.go(reason === "waiting" ? "left_waiting" : "stopped");
}

/** Resumes the session in the phase that it left. Its own seat is asked again if its retries were spent. */
export function onRecovered<S extends Self, U extends Subject>(draft: Draft<S, U>): void {
  const { phase, interrupted = "" } = draft.self;
  if (isStopped(phase)) {
    draft.go(`resumed_${interrupted}`);
    draft.patch({ interrupted: undefined } as Patch<Self> as Patch<S>);
  }
  draft.putAgain(undefined, RESUME);
}
