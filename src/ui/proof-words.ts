import type { Proof } from "../runtime/proof.ts";

export interface ProofLine {
  readonly found: "ok" | "unknown" | "failed";
  readonly name: string;
  readonly text: string;
}

export function proofLines({ records, integrity, completeness, decisions }: Proof): ProofLine[] {
  const isEmpty = records === 0 && integrity === "ok";
  const lines = {
    integrity: isEmpty ? (["unknown", "there are no records"] as const) : INTEGRITY[integrity],
    completeness: COMPLETENESS[completeness],
    decisions: DECISIONS[decisions],
    authenticity: ["unknown", "unsigned: the author is unknown"],
  } as const;
  return Object.entries(lines).map(([name, [found, text]]) => ({ name, found, text }));
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
  ok: ["ok", "every record is in its place and unchanged"],
  failed: ["failed", "records were changed, moved, added or removed"],
} as const;

/** Without a closing record, it is unknown whether the end was cut off. */
const COMPLETENESS = {
  closed: ["ok", "from the session's opening to its closing record"],
  open: ["unknown", "no closing record: the session is still open, or the end was cut off"],
  truncated: ["failed", "later records are missing"],
} as const;

const DECISIONS = {
  ok: ["ok", "replaying the facts gives every recorded decision"],
  failed: ["failed", "replaying the facts gives other decisions"],
  not_comparable: ["unknown", "not replayed: other rules, or incomplete"],
} as const;
