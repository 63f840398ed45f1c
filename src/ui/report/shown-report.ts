import type { Tone } from "../../kernel/presentation.ts";
import { stateOf } from "../model/model.ts";
import { isDamaged, problemLines, type ProofLine, proofLines } from "../proof-words.ts";
import { factsOf } from "./figures.ts";
import type { PageData, PageProof } from "./html/page-data.ts";
import { listsOf } from "./lists.ts";
import type { SessionReport } from "./report-model.ts";

/** A report as people read it, without its envelopes. */
export function shownReport(report: SessionReport): PageData {
  const { session, result } = report;
  return {
    title: session.requirement || session.session_id || "A session",
    session_id: session.session_id,
    ...outcomeOf(report),
    facts: factsOf(report),
    parts: result,
    proof: proofOf(report),
    lists: listsOf(report),
  };
}

/** The state of the session in a few words, with its tone. */
function outcomeOf({ session }: SessionReport): Pick<PageData, "outcome" | "tone"> {
  const { closed, stopped, cause } = session;
  const state = stateOf(session) || "unknown";
  if (closed !== undefined) {
    const reason = closed.reason === undefined ? "" : `: ${closed.reason.replaceAll("_", " ")}`;
    return { outcome: `${state}${reason}`, tone: closed.outcome === "done" ? "good" : "bad" };
  }
  if (stopped === undefined) return { outcome: state, tone: "warn" };
  const why =
    stopped.reason === "manager_failed" && cause ? `the ${cause.role_id} failed: ${cause.words}` : stopped.message;
  return { outcome: `${state}: ${why}`, tone: "warn" };
}

const TONES: Readonly<Record<ProofLine["found"], Tone>> = { ok: "good", unknown: "warn", failed: "bad" };

function proofOf({ proof }: SessionReport): PageProof {
  const [word, tone] = proof.ok
    ? (["verified", "good"] as const)
    : isDamaged(proof)
      ? (["damaged", "bad"] as const)
      : (["intact, not closed", "warn"] as const);
  const lines = proofLines(proof).map(({ found, name, text }) => [TONES[found], name, text] as const);
  return { word, tone, lines, problems: problemLines(proof) };
}
