import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mode } from "../kernel/mode.ts";
import { ok } from "../lib/result.ts";
import { listFolder, recordName } from "../log/reader.ts";
import { type Head, type Problem, type Verification, verifyFolder } from "../log/verify.ts";
import type { Fallible } from "../protocol/failure.ts";
import { replayDecisions } from "./replay.ts";

/** What a log proves: that its folder is intact, and that its decisions follow from its facts. */
export interface Proof extends Omit<Verification, "ok"> {
  readonly ok: boolean;
  readonly decisions: "ok" | "failed" | "not_comparable";
}

/**
 * Verifies a session from its folder: the hash chain, then every decision, replayed by the mode's rules. A log made under other rules, or of
 * an unknown mode, is `not_comparable`, which is not a failure. `head`, `last` and `stored` are as in `verifyFolder`.
 */
export function verifySession(
  folder: string,
  modes: ReadonlyMap<string, Mode<unknown>>,
  head?: Head,
  last?: () => number | undefined,
  stored?: (sequence: number) => string | undefined,
): Fallible<Proof> {
  const verified = verifyFolder(folder, head, last, stored);
  if (!verified.ok) return verified;
  const chain = verified.value;
  if (chain.integrity === "failed" || chain.records === 0) return ok({ ...chain, decisions: "not_comparable" });
  const listing = listFolder(folder);
  if (!listing.ok) return listing;
  const types = new Map(listing.value.files.map((file) => [file.sequence, file.payload_type]));
  const lineOf = (sequence: number) =>
    readFileSync(join(folder, recordName(sequence, types.get(sequence) ?? "")), "utf8");
  const decided = replayDecisions([...types.keys()], lineOf, modes);
  if (!decided) return ok({ ...chain, decisions: "not_comparable" });
  const problems: Problem[] = decided.problems.map((problem) => ({ ...problem, fault: "decided" }));
  // A crash between commit and publishing leaves a folder that ends inside a step, unless it is closed.
  if (problems.length === 0 && chain.completeness === "closed" && decided.awaited > 0) {
    const what = `${decided.awaited} decided records are missing at the end`;
    problems.push({ sequence: null, what, fault: "decided" });
  }
  return ok({
    ...chain,
    ok: chain.ok && problems.length === 0,
    decisions: problems.length === 0 ? "ok" : "failed",
    problems: [...chain.problems, ...problems],
  });
}
