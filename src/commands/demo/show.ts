import { formatDuration } from "../../lib/durations.ts";
import { clipped, safeLine, widthOf } from "../../ui/display.ts";
import type { Output, Style, Terminal } from "../../ui/terminal.ts";
import { counted } from "../../ui/words.ts";
import type { ReporterName } from "../manner.ts";
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
import { workLines } from "./work-line.ts";

/** Tells what happens in the demo. */
export type Show = (event: DemoEvent) => void;

/** Wider lines are hard to read, and many terminals have no more columns. */
const WIDTH = 80;
const TICKET_WIDTH = 10;
const FINDINGS_SHOWN = 6;
const FINDINGS_OF_A_KIND = 2;

/** The one that was asked for. */
export function showFor(reporter: ReporterName, { out }: Terminal): Show {
  switch (reporter) {
    case "json":
      return (event) => out.line(JSON.stringify(event));
    case "silent":
      return () => {};
    case "plain":
      return plainShow(out);
  }
}

function plainShow(out: Output): Show {
  const began = performance.now();
  let chapters = 0;
  const chapter = (title: string) => {
    chapters += 1;
    out.line();
    out.line(out.style("bold", `${chapters}  ${title}`));
  };
  const say = (text: string, style?: Style, indent = 3, further = indent) => {
    for (const line of wrapped(text, WIDTH, indent, further)) out.line(style ? out.style(style, line) : line);
  };
  const fields = (rows: readonly (readonly [name: string, text: string])[]) => {
    const wide = Math.max(...rows.map(([name]) => name.length)) + 2;
    for (const [name, text] of rows) {
      const [first = "", ...more] = wrapped(text, WIDTH, 3 + wide);
      out.line(`   ${out.style("dim", name.padEnd(wide))}${first.trimStart()}`);
      for (const line of more) out.line(line);
    }
  };
  const tick = (text: string) => out.line(`   ${out.style("green", "ok")} ${text}`);
  const seconds = () => `${((performance.now() - began) / 1000).toFixed(1).padStart(5)}s`;
  let asked = false;

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
      case "question":
        if (!asked) chapter("Two questions, before anything is planned");
        else out.line();
        asked = true;
        if (event.by === "default") question(event);
        else say(`Your answer: ${event.answer}`, "green");
        return;
      case "plan":
        chapter(`The plan: ${counted(event.tasks.length, "task")}`);
        fields(planRows(event.tasks));
        chapter("The work, at most two workers at a time; every result is checked by a command");
        return;
      case "record":
        for (const line of workLines(event)) {
          const head = `${out.style("dim", seconds())}  ${clipped(line.ticket, TICKET_WIDTH).padEnd(TICKET_WIDTH)}  `;
          const text = clipped(line.text, WIDTH - 20);
          out.line(head + (line.style ? out.style(line.style, text) : text));
          if (line.evidence !== undefined)
            for (const more of wrapped(line.evidence, WIDTH, 22)) out.line(out.style("yellow", more));
        }
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
        tick(
          `Nothing was lost, nothing was done twice: ${event.done_once} of ${counted(event.tickets, "ticket")} done once.`,
        );
        return;
      case "findings":
        chapter(`What the crew found: ${counted(event.count, "thing")}, worst first`);
        findings(event.items);
        return;
      case "verified":
        chapter("Can the record be trusted?");
        tick(`The log: ${counted(event.records, "record")}, each as it was written; decided again from`);
        out.line("      the facts alone, every decision comes out as recorded.");
        return;
      case "tampered":
        tampering(event);
        return;
      case "result":
        chapter(`That was all, in ${formatDuration(event.elapsed_ms)}. What stays:`);
        ending(event);
        return;
    }
  };

  function question({ text, why, options, default: usual, answer }: AnsweredQuestion): void {
    say(text, "bold");
    const rows: [string, string][] = [];
    if (why !== null) rows.push(["why", why]);
    if (options.length > 0) rows.push(["options", options.join(" | ")]);
    rows.push(["answer", answer === usual ? `${answer}  (the default)` : answer]);
    fields(rows);
  }

  function findings(items: readonly FoundItem[]): void {
    if (items.length === 0) say("Nothing: there is nothing to be said against this repository.");
    for (const item of topFindings(items, FINDINGS_SHOWN, FINDINGS_OF_A_KIND)) {
      const place = item.line === null ? item.file : `${item.file}:${item.line}`;
      out.line(`   ${out.style("bold", clipped(place, WIDTH - 3))}`);
      say(item.text, undefined, 6);
    }
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
    for (const [name, path] of rows) out.line(`   ${out.style("dim", name.padEnd(10))}${safeLine(path)}`);
    out.line();
    out.line("   Next:");
    for (const command of next) out.line(`     ${safeLine(command)}`);
  }
}

function scratchRows({ source, work, head, uncommitted }: Extract<DemoEvent, { type: "scratch" }>): [string, string][] {
  const rows: [string, string][] = [["of", source]];
  if (head === null)
    return [...rows, ["in", work], ["holds", "its files as they are, without history: there is no commit to clone"]];
  const missing =
    uncommitted === null || uncommitted === 0
      ? ""
      : `; ${counted(uncommitted, "file")} with uncommitted changes stay out of it`;
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
  const agents = left.map(
    ({ role_id, ticket_id, pid: agent }) => `${role_id} on ${ticket_id ?? "the plan"} (pid ${agent})`,
  );
  return [
    ["killed", `pid ${pid}, after ${counted(records, "record")}`],
    ["done so far", done.join(", ")],
    ["left alone", agents.length === 0 ? "no agent" : agents.join(", ")],
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

/** Text as lines of at most `width` columns, broken between words; `indent` blanks before the first, `further` before the others. */
export function wrapped(text: string, width: number, indent: number, further = indent): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of safeLine(text).split(" ")) {
    const before = " ".repeat(lines.length === 0 ? indent : further);
    const longer = line === "" ? before + word : `${line} ${word}`;
    if (line !== "" && widthOf(longer) > width) {
      lines.push(line);
      line = " ".repeat(further) + word;
    } else line = longer;
  }
  return [...lines, line];
}
