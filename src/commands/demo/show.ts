import { formatDuration } from "../../lib/durations.ts";
import { clipped, safeJson, safeLine, wrapped } from "../../ui/display.ts";
import type { Output, Style } from "../../ui/terminal.ts";
import { counted } from "../../ui/words.ts";
import { shortPath } from "../context/invocation.ts";
import type { CommandContext } from "../context/command.ts";
import type { ReporterName } from "../options/run-options.ts";
import type {
  AnsweredQuestion,
  Crash,
  DemoEvent,
  DemoResult,
  FoundItem,
  PlannedTask,
  Recovery,
  Tampering,
} from "./events.ts";
import { topFindings } from "./findings.ts";
import { type WorkLine, workLines } from "./work-line.ts";

/** Tells what happens in the demo. */
export type Show = (event: DemoEvent) => void;

/** Wider lines are hard to read, and many terminals have no more columns. */
const WIDTH = 80;
const TICKET_WIDTH = 10;
/** Before the text of a line of work: the seconds, the ticket, and blanks. */
const WORK_INDENT = 6 + 2 + TICKET_WIDTH + 2;
const FINDINGS_SHOWN = 6;
const FINDINGS_OF_A_KIND = 3;

/** The one that was asked for. */
export function showFor(reporter: ReporterName, { terminal: { out }, directory }: CommandContext): Show {
  switch (reporter) {
    case "json":
      return (event) => out.line(safeJson(event));
    case "silent":
      return () => {};
    case "plain":
      return plainShow(out, directory);
  }
}

function plainShow(out: Output, directory: string): Show {
  const began = performance.now();
  let chapters = 0;
  const chapter = (title: string) => {
    chapters += 1;
    out.line();
    out.line(out.style("bold", `${chapters}  ${title}`));
  };
  const say = (text: string, style?: Style, indent = 3) => {
    for (const line of wrapped(text, WIDTH, indent)) out.line(style ? out.style(style, line) : line);
  };
  const fields = (rows: readonly (readonly [name: string, text: string])[]) => {
    const wide = Math.max(...rows.map(([name]) => name.length)) + 2;
    for (const [name, text] of rows) {
      const [first = "", ...more] = wrapped(text, WIDTH, 3 + wide);
      out.line(`   ${out.style("dim", name.padEnd(wide))}${first.trimStart()}`);
      for (const line of more) out.line(line);
    }
  };
  const tick = (text: string) => {
    const [first = "", ...more] = wrapped(text, WIDTH, 6);
    out.line(`   ${out.style("green", "ok")} ${first.trimStart()}`);
    for (const line of more) out.line(line);
  };
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1).padStart(5)}s`;

  return (event) => {
    switch (event.type) {
      case "hello":
        say(
          "Bosun at work, in under half a minute: a manager and its workers survey a scratch copy of a repository; then their scheduler is killed in the middle of it, goes on where it was, and the record of it all is put to the proof. No model, no key, no network.",
          undefined,
          0,
        );
        return;
      case "scratch":
        chapter("A scratch copy; your files are only read");
        fields(scratchRows(event));
        return;
      case "questions":
        chapter(`${counted(event.count, "question")}, before anything is planned`);
        return;
      case "question":
        question(event);
        return;
      case "plan":
        chapter(`The plan: ${counted(event.tasks.length, "task")}`);
        fields(planRows(event.tasks));
        chapter("The work, at most two workers at a time; every result is checked by a command");
        return;
      case "record":
        for (const line of workLines(event)) work(line);
        return;
      case "killed":
        chapter("The scheduler is killed with SIGKILL: it cannot save, or tell anybody");
        fields(crashRows(event));
        return;
      case "resumed":
        chapter("Another process goes on where it was");
        fields(recoveryRows(event));
        out.line();
        return;
      case "closed":
        out.line();
        tick(`Nothing was lost and nothing done twice: ${counted(event.tickets, "ticket")}, each of them done once.`);
        if (event.sent_back === 0) say("Nothing had to be sent back here: every result held at the first try.");
        return;
      case "findings":
        chapter(`What the crew found: ${counted(event.count, "thing")}, worst first`);
        findings(event.items);
        return;
      case "verified":
        chapter("Can the record be trusted?");
        tick(
          `The log has ${counted(event.records, "record")}, each as it was written. Decided again from the facts alone, every decision comes out as recorded.`,
        );
        return;
      case "tampered":
        tampering(event);
        return;
      case "result":
        chapter(`That was all, in ${formatDuration(event.elapsed_ms)}. What stays:`);
        ending(event);
        return;
      case "failed":
        // Whoever called says what is wrong, on the stream for messages.
        out.line();
        return;
    }
  };

  function work({ ticket, text, style, evidence = "" }: WorkLine): void {
    const column = clipped(ticket, TICKET_WIDTH).padEnd(TICKET_WIDTH);
    const [first = "", ...more] = wrapped(text, WIDTH - WORK_INDENT, 0);
    const styled = (line: string) => (style ? out.style(style, line) : line);
    out.line(`${out.style("dim", seconds())}  ${column}  ${styled(first)}`);
    const indent = " ".repeat(WORK_INDENT);
    for (const line of more) out.line(indent + styled(line));
    if (evidence !== "") for (const line of wrapped(evidence, WIDTH - WORK_INDENT, 2)) out.line(indent + line);
  }

  function question({ text, why, options, default: usual, answer, by }: AnsweredQuestion): void {
    if (by === "terminal") {
      say(`-> ${answer}`, "green");
      return;
    }
    out.line();
    say(text, "bold");
    const rows: [string, string][] = [];
    if (why !== null) rows.push(["why", why]);
    if (options.length > 0) rows.push(["options", options.join(" | ")]);
    rows.push(["answer", answer === usual ? `${answer}  (the default)` : answer]);
    fields(rows);
  }

  function findings(items: readonly FoundItem[]): void {
    if (items.length === 0) say("Nothing: there is nothing to be said against this repository.");
    const top = topFindings(items, FINDINGS_SHOWN, FINDINGS_OF_A_KIND);
    for (const item of top) {
      const place = item.line === null ? item.file : `${item.file}:${item.line}`;
      out.line(`   ${out.style("bold", clipped(place, WIDTH - 3))}`);
      say(item.text, undefined, 6);
    }
    const untold = items.length - top.length;
    if (untold > 0) say(`And ${untold} more: the findings named below have them all.`);
  }

  function tampering({ sequence, file, from, to, lie, found }: Tampering): void {
    out.line();
    say(`Now somebody changes one byte in a copy of the log, so that ${lie}:`);
    out.line(`      ${clipped(file, 50)}  ${out.style("red", from)} -> ${out.style("red", to)}`);
    tick(`The proof fails, and names record ${sequence}: ${found}`);
  }

  function ending({ session_id, report, findings: found, log, kept, next }: DemoResult): void {
    const rows: [string, string][] = [
      ["findings", found],
      ["report", report],
      ["log", log],
      ["session", session_id],
    ];
    if (kept !== null) rows.push(["scratch", kept]);
    for (const [name, path] of rows)
      out.line(
        `   ${out.style("dim", name.padEnd(10))}${safeLine(name === "session" ? path : shortPath(directory, path))}`,
      );
    out.line();
    const wide = Math.max(...next.map(({ what }) => what.length)) + 2;
    for (const { what, command } of next) out.line(`   ${out.style("dim", what.padEnd(wide))}${safeLine(command)}`);
  }
}

function scratchRows({ source, work, head, uncommitted }: Extract<DemoEvent, { type: "scratch" }>): [string, string][] {
  const rows: [string, string][] = [["of", source]];
  if (head === null)
    return [
      ...rows,
      ["in", work],
      ["holds", "its files as they are, without history: there is no commit that git would clone"],
    ];
  const missing =
    uncommitted === null || uncommitted === 0 ? "" : `; left out: ${counted(uncommitted, "file")} changed or new`;
  return [...rows, ["in", work], ["holds", `the last commit only, ${head.slice(0, 10)}${missing}`]];
}

function planRows(tasks: readonly PlannedTask[]): [string, string][] {
  return tasks.map(({ task_id, description, dependencies }) => {
    const all = dependencies.length === tasks.length - 1;
    const after = dependencies.length === 0 ? "" : ` After ${all ? "all others" : dependencies.join(", ")}.`;
    return [task_id, `${description}${after}`];
  });
}

function crashRows({ pid, records, done, left }: Crash): [string, string][] {
  const programs = left.map(
    ({ who, ticket_id, pid: program }) => `${who} on ${ticket_id ?? "the plan"} (pid ${program})`,
  );
  return [
    ["killed", `pid ${pid}, after ${counted(records, "record")}`],
    ["done so far", done.join(", ")],
    ["at work", programs.length === 0 ? "no program" : programs.join(", ")],
  ];
}

function recoveryRows({ pid, ended, repeated, records }: Recovery): [string, string][] {
  return [
    ["process", `pid ${pid}`],
    ["leftovers", `${counted(ended, "program")} of the dead scheduler ended, none left`],
    ["repeated", `${counted(repeated, "turn")} that had no answer yet`],
    ["kept", `${counted(records, "record")}, every one as it was`],
  ];
}
