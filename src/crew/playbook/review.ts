import { type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";
import type { Reply } from "../turn.ts";

const TAIL_LINES = 20;
const TAIL_CHARACTERS = 2000;

/**
 * Reviews a ticket on its evidence alone. It is approved if every check passed and no issue in the report contains a
 * `fatal` text; otherwise each failed criterion is named with the end of its output.
 */
export function review(request: JsonObject, fatal: readonly string[]): Reply {
  const report = objectOf(request["report"]);
  const checks = listOf(request["checks"]).map(objectOf);
  const changes = [
    ...checks.filter((check) => check["passed"] !== true).map(failedCheck),
    ...listOf(report["issues"])
      .map(textWithin)
      .filter((issue) => fatal.some((text) => issue.toLowerCase().includes(text.toLowerCase())))
      .map((issue) => `The report names an issue that the plan does not accept: ${issue}`),
  ];
  if (report["status"] !== "completed")
    changes.push(`The report says "${textWithin(report["status"])}", not "completed".`);
  if (changes.length > 0) {
    return { payload_type: "review", payload: { decision: "changes_requested", requested_changes: changes } };
  }
  const few = ["Nothing was checked: the task has no executable criterion.", "Its check passed."];
  const notes = few[checks.length] ?? `All ${checks.length} checks passed.`;
  return { payload_type: "review", payload: { decision: "approved", notes } };
}

function failedCheck(check: JsonObject): string {
  const criterion = check["criterion"];
  const command = listOf(objectOf(criterion)["command"]).map(textWithin).join(" ");
  const tail = textWithin(check["output"])
    .split("\n")
    .slice(-TAIL_LINES)
    .join("\n")
    .slice(-TAIL_CHARACTERS)
    .toWellFormed()
    .trim();
  return [
    `Not met: ${textWithin(criterion)}`,
    ...(command === "" ? [] : [`\`${command}\` ended with exit code ${JSON.stringify(check["exit_code"])}`]),
    ...(tail === "" ? [] : [`its output ended:\n${tail}`]),
  ].join("\n");
}
