import {
  appendFileSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { reportPage } from "../config/installation.ts";
import type { Json } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { fails, type Fallible, isOfStorage } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_VERIFICATION } from "../runtime/exit.ts";
import { safeJson, safeLine } from "../ui/display.ts";
import { isDamaged } from "../ui/proof-words.ts";
import { ticketsOf } from "../ui/report/figures.ts";
import { htmlReport, PAGE_MARK } from "../ui/report/html/html-report.ts";
import { MARKDOWN_MARK, markdownReport } from "../ui/report/markdown.ts";
import { reportObject } from "../ui/report/report-object.ts";
import type { SessionReport } from "../ui/report/report-model.ts";
import { terminalReport } from "../ui/report/terminal.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addPagerOption, paged, type PagerOption } from "./context/paged.ts";
import { whereabouts } from "./lookup/copies.ts";
import { type LogSource, sourceOf, typedName } from "./lookup/log-source.ts";
import { projectionIn } from "./lookup/modes.ts";
import { gatherReport } from "./presenters/gathered-report.ts";
import { proofObject } from "./presenters/verify.ts";

interface ReportOptions extends PagerOption {
  /** True without a file name, for stdout. */
  readonly md?: string | true;
  readonly html?: string;
  readonly json?: boolean;
  readonly force?: boolean;
}

/** `bosun report`: shows what a session did, as text, Markdown, JSON, or one HTML page. */
export function register(command: Command): Action<ReportOptions> {
  command
    .argument("[session-or-folder]", "a session, or a log folder (default: the running session, else the newest)")
    .option("--html <file>", "write one page that needs no network: timeline, graph, searchable messages")
    .option("--md [file]", "Markdown, on stdout or in a file")
    .option("--json", "one JSON object on stdout")
    .option("--force", "replace a file that is not a report");
  addPagerOption(command);
  return (context, words, options) =>
    paged(context, options, options.json !== true, (shown) => report(shown, words, options));
}

async function report(context: CommandContext, [named]: readonly string[], options: ReportOptions): Promise<Exit> {
  const files = filesOf(context, options);
  if (!files.ok) return files;
  const source = await sourceOf(context, named);
  if (!source.ok) return source;
  const made = await gatherReport(source.value);
  if (!made.ok) return made;
  const { mode } = made.value.session;
  // A log that proves nothing has no state.
  const isProved = options.json === true && made.value.proof.decisions === "ok" && !isDamaged(made.value.proof);
  const projection = isProved ? await projectionIn(source.value.folder, mode) : undefined;
  for (const { path, parts } of files.value) {
    const written = writeWhole(path, parts(made.value));
    if (!written.ok) return written;
  }
  show(context, source.value, made.value, options, files.value, projection);
  return ok(isDamaged(made.value.proof) ? EXIT_VERIFICATION : EXIT_DONE);
}

interface ReportFile {
  readonly path: string;
  readonly parts: (report: SessionReport) => Iterable<string>;
}

/** The requested files, none of which would replace something else. */
function filesOf(
  { directory }: CommandContext,
  { html, md, json = false, force = false }: ReportOptions,
): Fallible<ReportFile[]> {
  if (md === true && json) {
    const hint = "Leave out one of them, or name a file for the Markdown: --md FILE.";
    return fails("usage", "--md without a file and --json both write to stdout.", { hint });
  }
  const files: ReportFile[] = [];
  for (const { flag, file, ending, parts } of [
    { flag: "--html", file: html, ending: /\.html?$/i, parts: htmlParts },
    { flag: "--md", file: md === true ? undefined : md, ending: /\.(?:md|markdown)$/i, parts: markdownReport },
  ]) {
    if (file === undefined) continue;
    // Otherwise a session's name after the flag would be taken for a file.
    if (!ending.test(file)) {
      const [name, example] = flag === "--html" ? [".html or .htm", "report.html"] : [".md or .markdown", "report.md"];
      const hint = `Name a file such as ${example} after ${flag}, and the session before it.`;
      return fails("usage", `${flag} ${JSON.stringify(file)}: the name must end in ${name}.`, { hint });
    }
    const path = resolve(directory, file);
    const allowed = mayWrite(path, force);
    if (!allowed.ok) return allowed;
    files.push({ path, parts });
  }
  return ok(files);
}

/** Length of the beginning of a file in which a report has its mark, in bytes. */
const BEGINNING = 1_024;

/** Whether a report may be written to a path: nothing or an earlier report is there, or the user forces it. */
function mayWrite(path: string, force: boolean): Fallible<void> {
  return onFile(path, () => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return ok(undefined);
    if (!stat.isFile()) return fails("usage", `${path} is not a file.`, { hint: "Name a file for the report." });
    const beginning = force ? "" : beginningOf(path);
    if (force || beginning.includes(PAGE_MARK) || beginning.includes(MARKDOWN_MARK)) return ok(undefined);
    return fails("usage", `${path} exists and is not a Bosun report.`, {
      hint: "Name another file, or add --force to replace it.",
    });
  });
}

/** Writes a file completely or not at all. Fails with `storage`, `storage_full`. */
function writeWhole(path: string, parts: Iterable<string>): Fallible<void> {
  return onFile(path, () => {
    // A symbolic link stays, and its target is replaced.
    const target = statSync(path, { throwIfNoEntry: false }) === undefined ? path : realpathSync(path);
    const partial = `${target}.${process.pid}.tmp`;
    const file = openSync(partial, "wx");
    try {
      for (const part of parts) appendFileSync(file, part);
      fsyncSync(file);
      renameSync(partial, target);
    } finally {
      closeSync(file);
      rmSync(partial, { force: true });
    }
    return ok(undefined);
  });
}

/** Runs work on a report's file. A system error becomes a failure. */
function onFile(path: string, work: () => Fallible<void>): Fallible<void> {
  const done = attempt(path, work, "The report");
  if (done.ok || !isOfStorage(done.error)) return done;
  return err({
    ...done.error,
    hint: "Name a file in a folder that exists, that you may write to, and that has space.",
  });
}

function beginningOf(path: string): string {
  const file = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(BEGINNING);
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, BEGINNING, 0));
  } finally {
    closeSync(file);
  }
}

function htmlParts(report: SessionReport): Iterable<string> {
  const { script, style } = reportPage();
  return htmlReport(report, { script: readFileSync(script, "utf8"), style: readFileSync(style, "utf8") });
}

function show(
  { terminal: { out } }: CommandContext,
  source: LogSource,
  made: SessionReport,
  { md, json = false }: ReportOptions,
  files: readonly ReportFile[],
  projection: Json | undefined,
): void {
  const paths = files.map(({ path }) => path);
  if (json) {
    const verification = { ...proofObject(out, source, made.proof), head: made.proof.head };
    return out.line(safeJson({ ...reportObject(made), projection, verification, files: paths }));
  }
  if (md === true) {
    for (const part of markdownReport(made)) out.line(part.trimEnd());
    return;
  }
  for (const path of paths) {
    const kilobytes = Math.ceil(statSync(path).size / 1_024).toLocaleString("en");
    out.line(`report  ${safeLine(path)}  (${kilobytes} KiB)`);
  }
  if (paths.length > 0) return;
  for (const line of terminalReport(made, out)) out.line(line);
  out.line();
  const { home, row } = source;
  const { presentation } = made;
  const isHere = home !== undefined && row !== undefined && presentation !== undefined;
  const where = isHere ? whereabouts(home, row.session_id, { presentation, tickets: ticketsOf(made) }) : undefined;
  if (where !== undefined) out.line(safeLine(where.words));
  tellNext(out, ...(where?.next ?? []), `bosun report ${typedName(source)} --html report.html`);
}
