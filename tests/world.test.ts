import { describe, expect, it } from "vitest";
import { difference, SOURCES } from "./sources.ts";

/** The only files that make files or folders that are not Bosun's own. What a person or an agent gets has the modes of its umask. */
const MAKERS: Readonly<Record<string, readonly string[]>> = {
  // Before anything is loaded, with a mode.
  "bin.ts": ["mkdirSync"],
  // What a model writes into the workspace.
  "agents/model/workspace-tools.ts": ["mkdir", "writeFile"],
  "commands/init.ts": ["appendFileSync", "mkdirSync", "writeFileSync"],
  // In a session's folder, which nobody else may enter: work trees and their `.git`, which have the modes that git and their origin give.
  "copies/copy.ts": ["copyFileSync", "mkdirSync"],
  "copies/given.ts": ["copyFile", "mkdir"],
  "copies/capture.ts": ["copyFileSync"],
  "copies/repository.ts": ["copyFileSync"],
  "config/trust.ts": ["mkdirSync", "writeFileSync"],
  "commands/plan.ts": ["writeFileSync"],
  "config/agent-files.ts": ["mkdirSync", "writeFileSync"],
  "commands/report.ts": ["appendFileSync", "openSync"],
  "ui/github.ts": ["appendFileSync"],
  // Into an open file of Bosun's own; the document of a session, in the workspace.
  "log/report.ts": ["appendFileSync", "mkdirSync", "writeFileSync"],
  "log/writer.ts": ["appendFileSync"],
  // In a folder of `mkdtemp`, which nobody else may enter.
  "crew/demo/proof.ts": ["cpSync", "writeFileSync"],
  "crew/demo/scratch.ts": ["cpSync"],
  "crew/shell.ts": ["writeFileSync"],
};

/** Calls that make files or folders, except `mkdtemp`: nobody else may enter what it makes. */
const MAKING =
  /(?<![#\w])(?:(?:mkdir|writeFile|appendFile|copyFile|cp)(?:Sync)?|createWriteStream)(?=\()|\bopenSync(?=\([^;]*"[wa]x?\+?")/;

/** The calls in a source that make something without the mode of Bosun's own files. */
function makersIn(code: string): string[] {
  const lines = code.split("\n").filter((line) => !/\bOWN\b/.test(line));
  return [...new Set(lines.flatMap((line) => MAKING.exec(line) ?? []))];
}

/** The only files that start programs, and what each starts. */
const STARTERS: Readonly<Record<string, string>> = {
  "agents/launch.ts": "agents, checks, notifications, sandbox programs",
  "agents/process-table.ts": "ps of the system",
  "commands/demo.ts": "this Node",
  "commands/driver/pull-request.ts": "gh of GitHub",
  "commands/driver/scheduler-process.ts": "this Node",
  "commands/examination/program.ts": "agent programs, for their version",
  "commands/interaction/beside.ts": "this Node",
  "commands/interaction/plan-edit.ts": "the person's editor",
  "commands/replay.ts": "this Node",
  "crew/demo/bosun.ts": "this Node",
  "crew/shell/run.ts": "the steps of a plan",
  "lib/git.ts": "git",
  "ui/pager.ts": "the person's pager",
};

describe("other programs", () => {
  it("are started only in listed files, and git only in one", () => {
    const starting = SOURCES.filter(({ code }) => /(?:from |import\()"(?:node:child_process|execa)"/.test(code));
    const started = starting.filter(
      ({ code }) => !/^import type [^\n]*"(?:node:child_process|execa)"/m.test(code) || /import\("execa"\)/.test(code),
    );
    expect(started.map(({ name }) => name).toSorted()).toEqual(Object.keys(STARTERS));
    const naming = SOURCES.filter(({ code }) => /["'`]git["'`]/.test(code)).map(({ name }) => name);
    expect(naming).toEqual(["lib/git.ts"]);
  });

  it("include no git that throws away what a person has not committed, and one that writes into a checkout", () => {
    const inCopies = SOURCES.filter(({ name }) => name.startsWith("copies/"));
    const having = (pattern: RegExp) => inCopies.flatMap(({ name, code }) => (pattern.test(code) ? [name] : []));
    expect(having(/"(?:reset|clean|stash|restore|switch|--hard)"/)).toEqual([]);
    expect(having(/"(?:checkout|rm)"/)).toEqual(["copies/checkout.ts"]);
    expect(inCopies.length).toBeGreaterThan(8);
  });
});

describe("the disk", () => {
  it("gets files and folders that only this user may read, except in listed files", () => {
    const inside = SOURCES.filter(({ name }) => name !== "lib/files.ts");
    const found = new Map(inside.map(({ name, code }) => [name, makersIn(code)]));
    expect(difference(found, MAKERS)).toEqual({ added: [], gone: [] });
    expect(
      makersIn('openSync(a, "wx");\nmkdirSync(a);\nawait writeFile(b);\nopenSync(c, "r");\nwriteFileSync(d, "", OWN);'),
    ).toEqual(["openSync", "mkdirSync", "writeFile"]);
  });
});
