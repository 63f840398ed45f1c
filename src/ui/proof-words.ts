import type { Proof } from "../runtime/proof.ts";

/** One aspect of a proof, and its result. */
export interface ProofLine {
  readonly found: "ok" | "unknown" | "failed";
  readonly name: string;
  readonly text: string;
}

/** What a log proves, in lines. */
export function proofLines({ records, integrity, completeness, decisions }: Proof): ProofLine[] {
  return [
    records === 0 && integrity === "ok"
      ? { name: "integrity", found: "unknown", text: "there are no records" }
      : { name: "integrity", found: integrity, text: INTEGRITY[integrity] },
    { name: "completeness", found: FOUND[completeness], text: COMPLETENESS[completeness] },
    {
      name: "decisions",
      found: decisions === "not_comparable" ? "unknown" : decisions,
      text: DECISIONS[decisions],
    },
    { name: "authenticity", found: "unknown", text: "unsigned: the author is unknown" },
  ];
}

/** The problems of a proof, each with its place. */
export function problemLines({ problems }: Proof): string[] {
  return problems.map(({ sequence, what }) => `${sequence === null ? "folder" : `record ${sequence}`}: ${what}`);
}

/** Whether the log, or a file that it describes, has changed since it was written. An open session is not damaged. */
export function isDamaged({ integrity, completeness, decisions, problems }: Proof): boolean {
  return integrity === "failed" || completeness === "truncated" || decisions === "failed" || problems.length > 0;
}

const INTEGRITY = {
  ok: "every record is in its place and unchanged",
  failed: "records were changed, moved, added or removed",
} as const;

/** Without a closing record, it is unknown whether the end was cut off. */
const FOUND = { closed: "ok", open: "unknown", truncated: "failed" } as const;

const COMPLETENESS = {
  closed: "from the session's opening to its closing record",
  open: "no closing record: the session is still open, or the end was cut off",
  truncated: "later records are missing",
} as const;

const DECISIONS = {
  ok: "replaying the facts gives every recorded decision",
  failed: "replaying the facts gives other decisions",
  not_comparable: "not replayed: other rules, or incomplete",
} as const;
