import { dirname, join } from "node:path";
import { closeToOthers } from "../../lib/files.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { askBosun } from "./bosun.ts";
import type { Demo } from "./session.ts";

/** Writes the session's page beside its final report and returns its path. */
export async function writePage({ bosun, session }: Demo, report: string): Promise<Result<string, Failure>> {
  const page = join(dirname(report), "report.html");
  const { code, complaint } = await askBosun(bosun, ["report", session.session_id, "--html", page, "--json"]);
  // For a command that is told where to write, the page is the person's.
  closeToOthers([page]);
  if (code === 0) return ok(page);
  const hint = `See why: bosun report ${session.session_id}`;
  return err(failure("environment", `The page of the session was not written. ${complaint}`.trim(), { hint }));
}
