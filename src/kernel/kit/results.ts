import type { Failure } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { wrongAt } from "../step.ts";

/** What `Rules.answered` returns for a report that is no whole result: a failed turn, or a refusal that says `what` is wanted. Undefined for one that is. */
export function lackingIn(
  { status, summary = "" }: PayloadByType["report"],
  what: string,
): Failure | { readonly failed: string } | undefined {
  if (status === "error") return { failed: "agent_failed" };
  if (status === "blocked") return { failed: "needs_input" };
  if (status === "completed" && summary.trim() !== "") return undefined;
  const pointer = status === "completed" ? "/summary" : "/status";
  return wrongAt(pointer, what, "report status completed, with the whole result as summary");
}
