import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listOf, objectOf, textWithin } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { LogRecord, UnsealedRecord } from "../../protocol/record.ts";
import type { Demo } from "./bosun.ts";
import { broken } from "./failures.ts";
import { counted } from "./screen.ts";

/** The tickets that these records finish, in order. */
export function ticketsDone(records: readonly UnsealedRecord[]): string[] {
  return effectsOf(records).flatMap(({ to, ticket_id }) => (to === "done" ? [ticket_id] : []));
}

/** Number of times that a check or a conflict sent work back. */
export function timesSentBack(log: readonly UnsealedRecord[]): number {
  return effectsOf(log).filter(({ event }) => event === "changes_requested").length;
}

function effectsOf(records: readonly UnsealedRecord[]) {
  return records.flatMap(({ record }) => record.effects ?? []);
}

/**
 * Compares the finished log with the one from right after the kill and returns the first difference: every record must still be there unchanged,
 * every ticket of the plan done once, and no finished ticket started again.
 */
export function lostOrDoubled(before: readonly LogRecord[], log: readonly LogRecord[]): string | undefined {
  const changed = before.findIndex((record, index) => JSON.stringify(record) !== JSON.stringify(log[index]));
  if (changed >= 0) return `record ${changed + 1} is lost or changed`;
  const doneBefore = ticketsDone(before);
  const again = log
    .slice(before.length)
    .find(({ payload_type, record }) => payload_type === "turn_request" && doneBefore.includes(record.ticket_id ?? ""));
  if (again !== undefined) return `the finished ticket ${again.record.ticket_id} was started again`;
  const done = ticketsDone(log);
  const twice = done.find((ticket, index) => done.indexOf(ticket) !== index);
  if (twice !== undefined) return `the ticket ${twice} was done twice`;
  const plan = log.findLast(({ payload_type }) => payload_type === "plan")?.payload;
  const planned = listOf(plan?.["tasks"]).map((task) => textWithin(objectOf(task)["task_id"]));
  const lost = planned.find((ticket) => !done.includes(ticket));
  return lost === undefined ? undefined : `the ticket ${lost} was never done`;
}

/** Verifies the log, then a copy with one changed byte. */
export async function prove({ screen, bosun }: Demo, log: string): Promise<Fallible<void>> {
  const verify = async (what: string) => {
    const { events, complaint } = await bosun.run(["replay", what, "--verify"]);
    const { problems, ...proof } = events[0] ?? {};
    return { proof, complaint, problems: listOf(problems).map(objectOf) };
  };
  const { proof, complaint, problems } = await verify(bosun.session_id);
  if (proof["ok"] !== true) return broken(`The log does not verify: ${textWithin(problems[0]?.["what"]) || complaint}`);
  const copy = join(bosun.setting.scratch.folder, "log");
  cpSync(log, copy, { recursive: true });
  const file = changeOneByte(copy);
  const sequence = Number(file.slice(0, 6));
  const found = (await verify(copy)).problems;
  if (found.length !== 1 || found[0]?.["sequence"] !== sequence) {
    const names = found.map((problem) => Number(problem["sequence"])).join(", ") || "none";
    return broken(`Record ${sequence} of a copy of the log was changed, and the verification names ${names}.`);
  }
  const records = Number(proof["records"]);
  screen.section("verified", { records, changed: { file, sequence } }, "Can you trust the record?");
  const unchanged = `The log has ${counted(records, "record")}, none of them changed.`;
  screen.kept(`${unchanged} Deciding again from the recorded facts gives every decision that was taken.`);
  screen.blank();
  screen.say("Now we change one byte in a copy of the log, so that a passed check looks failed:");
  screen.say(`${file}  ${PASSED} -> ${FAILED}`, 6);
  screen.kept(`The verification fails and names record ${sequence}: ${textWithin(found[0]?.["what"])}`);
  return ok(undefined);
}

const PASSED = '"exit_code":0';
const FAILED = '"exit_code":1';

/** Changes the exit code of the first passed check in a log folder, and returns the name of its file. */
function changeOneByte(folder: string): string {
  for (const file of readdirSync(folder).toSorted()) {
    const path = join(folder, file);
    const text = file.endsWith("-check_result.json") ? readFileSync(path, "utf8") : "";
    if (!text.includes(PASSED)) continue;
    writeFileSync(path, text.replace(PASSED, FAILED));
    return file;
  }
  throw new Error("The log has no check result to change.");
}
