import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listOf, objectOf, textWithin } from "../../lib/json.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { counted } from "../survey/finding.ts";
import { askBosun } from "./bosun.ts";
import { type Demo, ticketsDone } from "./session.ts";

/**
 * Compares the finished log with the one from right after the kill and returns the first difference: every record must still be there unchanged,
 * every ticket of the plan done once, and no finished ticket started again.
 */
export function lostOrDoubled(before: readonly LogRecord[], log: readonly LogRecord[]): string | undefined {
  const changed = before.findIndex((record, index) => JSON.stringify(record) !== JSON.stringify(log[index]));
  if (changed >= 0) return `record ${changed + 1} is lost or changed`;
  const doneBefore = new Set(ticketsDone(before));
  const again = log
    .slice(before.length)
    .find(({ payload_type, record }) => payload_type === "turn_request" && doneBefore.has(record.ticket_id ?? ""));
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
export async function prove({ screen, bosun, session }: Demo, log: string): Promise<Result<void, Failure>> {
  const verify = async (what: string) => {
    const { events, complaint } = await askBosun(bosun, ["replay", what, "--verify", "--json"]);
    const proof = events[0] ?? {};
    return { proof, complaint, problems: listOf(proof["problems"]).map(objectOf) };
  };
  const { proof, complaint, problems } = await verify(session.session_id);
  if (proof["ok"] !== true) return broken(`The log does not verify: ${textWithin(problems[0]?.["what"]) || complaint}`);
  const changed = changeOneByte(log, bosun.scratch.folder);
  if (changed === undefined) return broken("The log has no check result to change.");
  const { copy, file, sequence, from, to, lie } = changed;
  const found = (await verify(copy)).problems;
  const named = found.map((problem) => Number(problem["sequence"]));
  if (named.length !== 1 || named[0] !== sequence) {
    const names = named.join(", ") || "none";
    return broken(`Record ${sequence} of a copy of the log was changed, and the verification names ${names}.`);
  }
  const records = Number(proof["records"]);
  screen.section("verified", { records, changed: { file, sequence } }, "Can you trust the record?");
  const unchanged = `The log has ${counted(records, "record")}, none of them changed.`;
  screen.kept(`${unchanged} Deciding again from the recorded facts gives every decision that was taken.`);
  screen.blank();
  screen.say(`Now we change one byte in a copy of the log, so that ${lie}:`);
  screen.say(`${file}  ${from} -> ${to}`, 6);
  screen.kept(`The verification fails and names record ${sequence}: ${textWithin(found[0]?.["what"])}`);
  return ok(undefined);
}

/** The preferred change comes first. */
const LIES = [
  { from: '"exit_code":1', to: '"exit_code":0', lie: "a failed check looks passed" },
  { from: '"exit_code":0', to: '"exit_code":1', lie: "a passed check looks failed" },
] as const;

/** Copies a log into a folder and changes one byte of a check's result in the copy; undefined if it has no check. */
function changeOneByte(log: string, folder: string) {
  const copy = join(folder, "log");
  cpSync(log, copy, { recursive: true });
  const files = readdirSync(copy).filter((name) => name.endsWith("-check_result.json"));
  for (const { from, to, lie } of LIES) {
    for (const file of files.toSorted()) {
      const text = readFileSync(join(copy, file), "utf8");
      if (!text.includes(`${from},`)) continue;
      writeFileSync(join(copy, file), text.replace(`${from},`, `${to},`));
      return { copy, file, sequence: Number(file.slice(0, 6)), from, to, lie };
    }
  }
  return undefined;
}

/** A failure for a broken promise of Bosun's. */
export function broken(what: string): Result<never, Failure> {
  const hint = "This is a bug in Bosun. Please report it with the session's log folder.";
  return err(failure("verification_failed", what, { hint }));
}
