import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listOf, objectOf } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { textOf } from "../turn.ts";
import { askBosun, type Bosun } from "./bosun.ts";
import { REPORT_IT } from "./session.ts";
import type { Tampering } from "./story.ts";

/** The preferred change comes first. */
const LIES = [
  { from: '"exit_code":1', to: '"exit_code":0', lie: "a failed check looks passed" },
  { from: '"exit_code":0', to: '"exit_code":1', lie: "a passed check looks failed" },
] as const;

/**
 * Changes one byte of a check's result in a copy of a log and verifies the copy. Fails with `verification_failed`
 * unless the verification names exactly that record.
 */
export async function tamperAndVerify(bosun: Bosun, log: string): Promise<Result<Tampering, Failure>> {
  const copy = join(bosun.scratch.folder, "log");
  cpSync(log, copy, { recursive: true });
  const changed = changeOneByte(copy);
  if (changed === undefined) return err(failure("verification_failed", "The log has no check result to change."));
  const { events } = await askBosun(bosun, ["replay", copy, "--verify", "--json"]);
  const problems = listOf(events[0]?.["problems"]).map(objectOf);
  const named = problems.map((problem) => Number(problem["sequence"]));
  if (named.length !== 1 || named[0] !== changed.sequence) {
    const what = `Record ${changed.sequence} of a copy of the log was changed, and the verification names ${named.join(", ") || "none"}.`;
    return err(failure("verification_failed", what, { hint: REPORT_IT }));
  }
  return ok({ ...changed, found: textOf(problems[0]?.["what"]) });
}

function changeOneByte(folder: string): Omit<Tampering, "found"> | undefined {
  const files = readdirSync(folder).filter((name) => name.endsWith("-check_result.json"));
  for (const { from, to, lie } of LIES) {
    for (const file of files.toSorted()) {
      const text = readFileSync(join(folder, file), "utf8");
      if (!text.includes(`${from},`)) continue;
      writeFileSync(join(folder, file), text.replace(`${from},`, `${to},`));
      return { file, sequence: Number(file.slice(0, 6)), from, to, lie };
    }
  }
  return undefined;
}
