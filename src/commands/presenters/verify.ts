import { statSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson } from "../../lib/canonical.ts";
import type { Mode } from "../../kernel/mode.ts";
import type { Json } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { type Listing, listFolder, readFolder, readPlainFile, recordIn } from "../../log/reader.ts";
import type { Fault, Problem } from "../../log/verify.ts";
import type { Fallible } from "../../protocol/failure.ts";
import { validators } from "../../protocol/generated/validators.js";
import { MAX_PAYLOAD_BYTES } from "../../protocol/limits.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import type { LogRecord } from "../../protocol/record.ts";
import { openReader } from "../../store/sqlite-store.ts";
import { catchStorage, StorageError } from "../../store/storage-error.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { EXIT_DONE, EXIT_VERIFICATION } from "../../runtime/exit.ts";
import { artifactProblems } from "../../runtime/kept-files.ts";
import { type SessionPaths, sessionPaths } from "../../runtime/paths.ts";
import { type Proof, verifySession } from "../../runtime/proof.ts";
import { checkSession } from "../../runtime/replayed-state.ts";
import { safeJson, safeLine } from "../../ui/display.ts";
import { proofLines } from "../../ui/proof-words.ts";
import type { Output } from "../../ui/terminal.ts";
import { counted, localize, tellNext } from "../../ui/words.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { type LogSource, NO_RECORDS, typedName } from "../lookup/log-source.ts";
import { loadModes } from "../../modes/index.ts";

const REPORT_FILES = ["final_report.json", "final_report.md"];

/** The report file is indented: with the shortest entries it is four times as large as its payload. */
const MAX_REPORT_BYTES = 4 * MAX_PAYLOAD_BYTES;

/** Proves a log and shows the result, as text or as the object that SPEC.md promises. The exit code is 0 only for a complete, closed and valid log. */
export async function verify({ terminal: { out } }: CommandContext, source: LogSource, json: boolean): Promise<Exit> {
  const proved = await proofOf(source);
  if (!proved.ok) return proved;
  const proof = proved.value;
  if (json) out.line(safeJson(proofObject(out, source, proof)));
  else show(out, source, proof);
  return ok(proof.ok ? EXIT_DONE : EXIT_VERIFICATION);
}

/** The result of proving a log, the kept files and the report beside it. */
export async function proofOf(source: LogSource): Promise<Fallible<Proof>> {
  const { folder, home, row } = source;
  const modes = await loadModes();
  if (home === undefined || row === undefined) return verifySession(folder, modes);
  const opened = openReader(home);
  if (!opened.ok) return opened;
  const reader = opened.value;
  try {
    const { session_id, last_sequence, head } = row;
    const known = last_sequence === 0 ? undefined : { sequence: last_sequence, hash: head };
    const last = () => rowNow(reader, row).last_sequence;
    const proved = verifySession(folder, modes, known, last, (sequence) => reader.record(session_id, sequence));
    if (!proved.ok) return proved;
    const differing = await databaseProblems(reader, row, modes.get(row.mode), proved.value);
    const integrity = differing.length > 0 ? "failed" : proved.value.integrity;
    const problems = [...proved.value.problems, ...differing, ...problemsBeside(source)];
    return ok({ ...proved.value, ok: proved.value.ok && problems.length === 0, integrity, problems });
  } finally {
    reader.close();
  }
}

function rowNow(reader: StoreReader, { session_id }: SessionRow): SessionRow {
  const row = reader.session(session_id);
  if (!row.ok) throw new StorageError(row.error);
  return row.value;
}

/** The first difference of the database from itself and from what its records lead to, unless records that differ are known. */
async function databaseProblems(
  reader: StoreReader,
  row: SessionRow,
  mode: Mode<unknown> | undefined,
  { problems }: Proof,
): Promise<Problem[]> {
  if (problems.some(({ fault }) => fault === "database" || fault === "ahead")) return [];
  const checked = await catchStorage(async () => ok(await checkSession(reader, rowNow(reader, row), mode)));
  if (checked.ok) return [];
  const { code, message, details } = checked.error;
  if (code !== "verification_failed") throw new StorageError(checked.error);
  return [{ sequence: (details?.sequence ?? null) as number | null, what: message, fault: "database" }];
}

/** The proof as SPEC.md promises it. Signatures are not supported yet, so every log is `unsigned`. */
export function proofObject(out: Output, source: LogSource, proof: Proof): object {
  const { ok: good, records, integrity, completeness, decisions } = proof;
  const problems = proof.problems.map(({ sequence, what, fault }) => ({
    sequence,
    what,
    ...(fault === undefined ? {} : { hint: localize(out, remedyFor(fault, source)) }),
  }));
  return { ok: good, records, integrity, completeness, authenticity: "unsigned", decisions, problems };
}

/** Problems of the kept files and the report, which the log describes. */
function problemsBeside(source: LogSource): readonly Problem[] {
  const { home, row, isHeld } = source;
  if (home === undefined || row === undefined) return [];
  const paths = sessionPaths(home, row.session_id);
  // The owner writes the reports shortly after the last record, also when a reopened session closes again.
  const reports = isHeld || row.state !== "closed" ? [] : [...reportProblems(paths, source), ...missingReports(paths)];
  return [...artifactProblems(paths), ...reports];
}

function missingReports({ folder }: SessionPaths): Problem[] {
  return REPORT_FILES.map((name) => join(folder, name))
    .filter(isNowhere)
    .map((file) => ({ sequence: null, what: `The report ${file} is missing.`, fault: "report" }));
}

/** The report file must equal the one in the log, because people pass the file on. */
function reportProblems(paths: SessionPaths, { folder }: LogSource): Problem[] {
  const file = join(paths.folder, "final_report.json");
  if (isNowhere(file)) return [];
  const listing = listFolder(folder);
  if (!listing.ok) return [];
  const files = listing.value.files.filter((record) => record.payload_type === "final_report").slice(-1);
  const [recorded] = readFolder(folder, { files, foreign: [] });
  if (recorded === undefined) return [{ sequence: null, what: `The report ${file} has no record.`, fault: "missing" }];
  const { sequence, bytes } = recorded;
  const wrong = (what: string): Problem[] => [{ sequence, what, fault: "report" }];
  const report = readPlainFile(file, MAX_REPORT_BYTES)?.toString("utf8");
  if (report === undefined) return wrong(`The report ${file} cannot be read, or is too large.`);
  if (!same(report, recordIn(bytes))) return wrong(`The report ${file} differs from this record.`);
  const parsed = JSON.parse(report) as PayloadByType["final_report"];
  if (!validators.final_report(parsed)) return [{ sequence, what: "It is not a final report.", fault: "changed" }];
  return headProblems(folder, listing.value, parsed.log);
}

/** Whether there is no such file. One in a folder without permission may exist. */
function isNowhere(file: string): boolean {
  try {
    return statSync(file, { throwIfNoEntry: false }) === undefined;
  } catch {
    return false;
  }
}

/** The report contains the hash of the record before it, which proves the end of the log without the database. */
function headProblems(
  folder: string,
  listing: Listing,
  { records, head }: PayloadByType["final_report"]["log"],
): Problem[] {
  const files = listing.files.filter((record) => record.sequence === records);
  const [before] = readFolder(folder, { files, foreign: [] });
  // The check of the hash chain reports a missing record.
  if (before === undefined) return [];
  if (recordIn(before.bytes)?.integrity.hash === head) return [];
  const what = `The final report has another hash for this record: ${head}.`;
  return [{ sequence: records, what, fault: "changed" }];
}

function same(report: string, record: LogRecord | null): boolean {
  try {
    return record !== null && canonicalJson(JSON.parse(report) as Json) === canonicalJson(record.payload);
  } catch {
    return false;
  }
}

function show(out: Output, source: LogSource, proof: Proof): void {
  const { folder, row, isHeld } = source;
  const known = row === undefined ? "the folder alone" : "the folder, the database and the files of this home";
  out.line(
    out.style(
      "bold",
      `${row?.session_id ?? safeLine(folder)}: ${counted(proof.records, "record")}, compared with ${known}`,
    ),
  );
  for (const { found, name, text } of proofLines(proof)) {
    const [mark, style] = MARK[found];
    out.line(`  ${out.style(style, mark)}  ${name.padEnd(13)} ${text}`);
  }
  for (const { sequence, what } of proof.problems) {
    out.line(out.style("red", `  ${sequence === null ? "folder" : `record ${sequence}`}: ${safeLine(what)}`));
  }
  out.line(out.style(proof.ok ? "green" : "red", proof.ok ? "Verified." : "Not verified."));
  if (proof.records === 0 && row === undefined) return out.line(NO_RECORDS);
  const faults = new Set(proof.problems.map(({ fault }) => fault));
  const remedies = [...faults].map((fault) => (fault === undefined ? "" : remedyFor(fault, source)));
  for (const remedy of new Set(remedies)) if (remedy !== "") out.line(safeLine(localize(out, remedy)));
  const [first] = proof.problems;
  const name = typedName(source);
  const isMendable = row !== undefined && (faults.has("missing") || faults.has("report"));
  if (isMendable || (proof.completeness === "open" && row !== undefined && first === undefined))
    tellNext(out, `bosun ${isHeld ? "attach" : "resume"} ${name}`);
  else if (first?.sequence !== undefined && first.sequence !== null)
    tellNext(out, `bosun replay ${name} --from ${Math.max(1, first.sequence - 2)} --to ${first.sequence + 2}`);
  else tellNext(out, `bosun ${row === undefined ? "replay" : "log"} ${name}`);
}

/** The same marks as in `doctor`. */
const MARK = { ok: ["ok", "green"], unknown: ["--", "yellow"], failed: ["!!", "red"] } as const;

const FOLDER_ALONE =
  "A folder alone cannot be repaired. The session's home has every record in its database: run `bosun replay SESSION --verify` there.";

/** How to repair what is wrong with a log, or with the files beside it. */
function remedyFor(fault: Fault, { row, isHeld }: LogSource): string {
  const resume = row && `\`bosun resume ${row.session_id}\`${isHeld ? ", once the session has stopped," : ""}`;
  const rebuild = `\`bosun rebuild ${row?.session_id}\` makes the session's rows again from the folder, and keeps a copy of the database.`;
  switch (fault) {
    case "missing":
      return resume ? `${resume} writes the missing files again from the database.` : FOLDER_ALONE;
    case "changed":
      return resume
        ? `Move the changed files away and keep them as evidence: ${resume} then writes the records again from the database.`
        : FOLDER_ALONE;
    case "ahead":
      return `The database is older than the log. ${rebuild}`;
    case "database":
      return `If the folder proves itself, it has what the session wrote. ${rebuild}`;
    case "report":
      return resume ? `${resume} writes both report files again from the database.` : FOLDER_ALONE;
    case "foreign":
      return "Move away the files that do not belong there.";
    case "kept":
      return "The log has only the digest of a kept file: restore the file from a copy, if there is one.";
    case "decided":
      return "The hash chain is intact. Either someone rewrote the whole log, or this is a bug in Bosun: please report it with the session's log folder.";
  }
}
