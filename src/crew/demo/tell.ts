import { relative } from "node:path";
import { styleText } from "node:util";
import { formatDuration } from "../../lib/durations.ts";
import { jsonEscaped, replaceEachUnsafe, replaceUnsafe, withoutSequences } from "../../lib/terminal-text.ts";
import { wrap } from "../../lib/text-layout.ts";
import { counted } from "../survey/finding.ts";
import type { Crash, DemoEvent, DemoResult, FoundItem, PlannedTask, Recovery, Tampering, Tell } from "./story.ts";
import { workLines } from "./work-lines.ts";

const WIDTH = 80;
const TICKET_WIDTH = 10;
/** Columns before the text of a line of work: the seconds and the ticket. */
const WORK_INDENT = 7 + 2 + TICKET_WIDTH + 2;
const FINDINGS_SHOWN = 6;
const FINDINGS_OF_A_KIND = 3;

type Style = Parameters<typeof styleText>[0];
/** A name and its value. */
type Row = readonly [string, string];

/** Tells the story in the form that `--reporter` asks for. `write` gets each line. */
export function teller(reporter: string, directory: string, write: (line: string) => void): Tell {
  if (reporter === "json") return (event) => write(replaceEachUnsafe(JSON.stringify(event), jsonEscaped));
  if (reporter === "silent") return () => {};
  return plainTeller(directory, write);
}

function plainTeller(directory: string, write: (line: string) => void): Tell {
  const began = performance.now();
  let chapters = 0;
  const chapter = (title: string) => write(`\n${styled("bold", `${(chapters += 1)}  ${title}`)}`);
  const say = (text: string, indent = 3) => {
    for (const line of wrapped(text, WIDTH - indent)) write(" ".repeat(indent) + line);
  };
  const fields = (rows: readonly Row[]) => {
    const wide = Math.max(...rows.map(([name]) => name.length)) + 2;
    for (const [name, text] of rows) {
      const [first = "", ...more] = wrapped(text, WIDTH - 3 - wide);
      write(`   ${styled("dim", name.padEnd(wide))}${first}`);
      for (const line of more) write(" ".repeat(3 + wide) + line);
    }
  };
  const tick = (text: string) => {
    const [first = "", ...more] = wrapped(text, WIDTH - 6);
    write(`   ${styled("green", "ok")} ${first}`);
    for (const line of more) write(`      ${line}`);
  };
  const work = (event: Extract<DemoEvent, { type: "record" }>) => {
    const seconds = `${((performance.now() - began) / 1000).toFixed(1).padStart(6)}s`;
    for (const { ticket, text, style, evidence = "" } of workLines(event)) {
      const [first = "", ...more] = wrapped(text, WIDTH - WORK_INDENT).map((line) =>
        style === "plain" ? line : styled(style, line),
      );
      write(`${styled("dim", seconds)}  ${safe(ticket).slice(0, TICKET_WIDTH).padEnd(TICKET_WIDTH)}  ${first}`);
      for (const line of more) write(" ".repeat(WORK_INDENT) + line);
      if (evidence !== "") say(evidence, WORK_INDENT + 2);
    }
  };
  // Paths and commands are for copying, so they are never broken into lines.
  const path = (text: string) => {
    const near = relative(directory, text);
    return safe(near !== "" && !near.startsWith("..") && near.length < text.length ? near : text);
  };

  return (event) => {
    switch (event.type) {
      case "hello":
        say(
          "A manager and two workers survey a copy of a repository. Then we kill their scheduler, another process goes on, and we check the record of it all. No model, no key, no network.",
          0,
        );
        return;
      case "scratch":
        chapter("A scratch copy; your files are only read");
        write(`   ${styled("dim", "of     ")}${safe(event.source)}`);
        write(`   ${styled("dim", "in     ")}${safe(event.work)}`);
        fields([["holds", contentOf(event)]]);
        return;
      case "questions":
        chapter(`The manager asks ${counted(event.count, "question")} before it plans`);
        return;
      case "question":
        // The terminal shows a question that was asked there.
        if (event.by === "terminal") return fields([["answer", event.answer]]);
        write("");
        for (const line of wrapped(event.text, WIDTH - 3)) write(`   ${styled("bold", line)}`);
        fields(questionRows(event));
        return;
      case "plan":
        chapter(`The plan: ${counted(event.tasks.length, "task")}`);
        fields(event.tasks.map((task) => [task.task_id, taskText(task, event.tasks.length)]));
        chapter("The work, at most two workers at a time; a command checks every result");
        return;
      case "record":
        work(event);
        return;
      case "killed":
        chapter("We kill the scheduler with SIGKILL: it cannot save anything or tell anybody");
        fields(crashRows(event));
        return;
      case "resumed":
        chapter("Another process goes on with the session");
        fields(recoveryRows(event));
        write("");
        return;
      case "closed":
        write("");
        tick(`Nothing was lost and nothing was done twice: ${counted(event.tickets, "ticket")}, each done once.`);
        if (event.sent_back === 0) say("No work was sent back this time: every check passed at once.");
        return;
      case "findings":
        chapter(`What the crew found: ${counted(event.count, "finding")}, worst first`);
        findings(event.items, event.clean);
        return;
      case "verified":
        chapter("Can you trust the record?");
        tick(
          `The log has ${counted(event.records, "record")}, none of them changed. Deciding again from the recorded facts gives every decision that was taken.`,
        );
        return;
      case "tampered":
        tampering(event);
        return;
      case "result":
        chapter(`Done in ${formatDuration(event.elapsed_ms)}. This stays:`);
        ending(event);
        return;
      case "failed":
        write("");
        return;
    }
  };

  function findings(items: readonly FoundItem[], clean: readonly string[]): void {
    const top = topFindings(items, FINDINGS_SHOWN, FINDINGS_OF_A_KIND);
    for (const { file, line, text } of top) {
      for (const part of wrapped(line === undefined ? file : `${file}:${line}`, WIDTH - 3)) {
        write(`   ${styled("bold", part)}`);
      }
      say(text, 6);
    }
    if (items.length > top.length) say(`${items.length - top.length} more are in the report of findings below.`);
    if (clean.length > 0) {
      say("Checked, with nothing to find:");
      for (const text of clean) say(text, 6);
    }
  }

  function tampering({ sequence, file, from, to, lie, found }: Tampering): void {
    write("");
    say(`Now we change one byte in a copy of the log, so that ${lie}:`);
    write(`      ${file}  ${styled("red", from)} -> ${styled("red", to)}`);
    tick(`The verification fails and names record ${sequence}: ${found}`);
  }

  function ending({ session_id, report, findings: found, log, kept, next }: DemoResult): void {
    const rows: Row[] = [
      ["findings", path(found)],
      ["report", path(report)],
      ["log", path(log)],
      ["session", session_id],
      ...(kept === null ? [] : [["scratch", path(kept)] as const]),
    ];
    for (const [name, text] of rows) write(`   ${styled("dim", name.padEnd(10))}${text}`);
    for (const { what, command } of next) write(`\n   ${styled("dim", `${what}:`)}\n   ${safe(command)}`);
  }
}

function contentOf({ head, uncommitted }: Extract<DemoEvent, { type: "scratch" }>): string {
  if (head === null) return "its files as they are, without history: there is no commit to clone";
  const missing = (uncommitted ?? 0) === 0 ? "" : `, without ${counted(uncommitted ?? 0, "changed or new file")}`;
  return `the last commit, ${head.slice(0, 10)}${missing}`;
}

function questionRows(event: Extract<DemoEvent, { type: "question" }>): Row[] {
  const { why, options, default: usual, answer } = event;
  return [
    ...(why === "" ? [] : [["why", why] as const]),
    ...(options.length === 0 ? [] : [["options", options.join(" | ")] as const]),
    ["answer", answer === usual ? `${answer}  (the default)` : answer],
  ];
}

function taskText({ description, dependencies }: PlannedTask, tasks: number): string {
  if (dependencies.length === 0) return description;
  return `${description} After ${dependencies.length === tasks - 1 ? "all others" : dependencies.join(", ")}.`;
}

function crashRows({ pid, records, done, left }: Crash): Row[] {
  const programs = left.map(({ name, pid: program }) => `${name} (pid ${program})`).join(", ");
  return [
    ["killed", `pid ${pid}, after ${counted(records, "record")}`],
    ["done so far", done.join(", ")],
    ["at work", programs],
  ];
}

function recoveryRows({ pid, ended, repeated, records }: Recovery): Row[] {
  return [
    ["process", `pid ${pid}`],
    ["leftovers", `${counted(ended, "program")} of the dead scheduler ended, none left`],
    ["repeated", `${counted(repeated, "turn")} that had no answer yet`],
    ["kept", `${counted(records, "record")}, all unchanged`],
  ];
}

/**
 * The first findings of a list, but each file once and at most `each` of a kind: a long list of one kind must not hide
 * the others.
 */
export function topFindings(items: readonly FoundItem[], most: number, each: number): FoundItem[] {
  const files = new Set<string>();
  const kinds = new Map<string, number>();
  const top: FoundItem[] = [];
  for (const item of items) {
    const ofThisKind = kinds.get(item.kind) ?? 0;
    if (top.length === most || ofThisKind === each || files.has(item.file)) continue;
    files.add(item.file);
    kinds.set(item.kind, ofThisKind + 1);
    top.push(item);
  }
  return top;
}

function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** Text from outside on one line, without what a terminal would obey. */
function safe(text: string): string {
  return replaceUnsafe(withoutSequences(text), () => " ");
}

function wrapped(text: string, width: number): string[] {
  return wrap(safe(text), width);
}
