import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { promptLine } from "../../src/ui/prompt.ts";
import type { Terminal } from "../../src/ui/terminal.ts";
import { until } from "../commands/rig.ts";
import { openTerminal, type Pane } from "../commands/terminal.ts";

/** A program that asks two questions. */
const PROGRAM = join(import.meta.dirname, "children", "prompting.ts");

function directoryHere(): string {
  const directory = mkdtempSync(join(tmpdir(), "bosun-prompt-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  mkdirSync(join(directory, "here"));
  return join(directory, "here");
}

/** The program in a terminal of its own, once it shows the first question. */
async function asking(columns: number, env: Record<string, string> = {}): Promise<Pane> {
  const pane = openTerminal(directoryHere(), [process.execPath, PROGRAM], { columns, env });
  await pane.asks("The question 1?");
  return pane;
}

const question = (number: number) => `Question ${number} of 2\n  The question ${number}?\n  1  main\n  2  next\n>`;

describe("lines that are written while a question is open", () => {
  it.each([40, 80])("go above it and what is typed, which may wrap: %s columns", async (columns) => {
    const pane = await asking(columns);
    const happens = async (event: number) => {
      process.kill(pane.pid(), "SIGUSR2");
      await pane.shows(`event ${event}`);
    };
    await happens(1);
    expect(pane.screen().trimEnd()).toBe(`begin\nevent 1\n\n${question(1)}`);
    const typed = "漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字 漢字";
    pane.type(typed, "Left", "Left");
    await pane.shows(typed.slice(-5));
    await happens(2);
    await happens(3);
    expect(pane.screen().trimEnd()).toMatch(/^begin\nevent 1\nevent 2\nevent 3\n\nQuestion/);
    expect(pane.screen().split("Question 1 of 2")).toHaveLength(2);
    pane.type("=");
    await pane.shows("=漢");
    await pane.resize(columns === 40 ? 80 : 40);
    await happens(4);
    pane.type("!", "Enter");
    await pane.asks("The question 2?");
    await happens(5);
    pane.type("2", "Enter");
    expect(await pane.exit()).toBe(0);
    const answer = `${typed.slice(0, -2)}=!漢字`;
    expect(pane.screen().replace(/\s/g, "")).toContain(`answers["${answer.replaceAll(" ", "")}","next"]`);
  });

  it("are simply written where the cursor cannot move", async () => {
    const pane = await asking(80, { TERM: "dumb" });
    process.kill(pane.pid(), "SIGUSR2");
    await pane.shows("event 1");
    expect(pane.screen().trimEnd()).toBe(`begin\n\n${question(1)} event 1`);
    pane.type("thre", "BSpace", "Enter");
    await pane.asks("The question 2?");
    pane.type("C-d");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toContain('answers ["thr","left"]');
  });
});

describe("a text of several lines", () => {
  it("is one answer if it is pasted, once Enter is pressed", async () => {
    const pane = await asking(80);
    pane.paste("one\n\ntwo");
    await pane.shows("> two");
    process.kill(pane.pid(), "SIGUSR2");
    await pane.shows("event 1\n\nQuestion 1 of 2");
    await pane.shows("> one\n>\n> two");
    pane.type("!", "Enter");
    await pane.asks("The question 2?");
    pane.type("C-d");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toContain(String.raw`answers ["one\n\ntwo!","left"]`);
  });

  it("is one answer where the terminal does not mark pastes, too", async () => {
    const pane = await asking(80);
    pane.type("one", "Enter", "two", "Enter", "three", "Enter");
    await pane.shows("> one\n> two\n> three\n>");
    pane.type("!");
    await pane.shows("\n> !");
    pane.type("Enter");
    await pane.asks("The question 2?");
    pane.type("C-d");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toContain(String.raw`answers ["one\ntwo\nthree\n!","left"]`);
  });
});

/** This process does nothing for so long. */
function standStill(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe("a prompt", () => {
  it("discards what was typed before it was there, though this process reads it late", async () => {
    const path = mkdtempSync(join(tmpdir(), "bosun-typing-"));
    const keys =
      'printf "early\\n"; touch typed; until [ -e shown ]; do sleep 0.01; done; printf "answer\\n"; exec sleep 60';
    const child = spawn("sh", ["-c", keys], { cwd: path, stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(async () => {
      if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "exit");
      rmSync(path, { recursive: true });
    });
    const stream = new PassThrough();
    stream.once("data", () => writeFileSync(join(path, "shown"), ""));
    const terminal = { input: child.stdout, err: { stream, line: () => {} }, isDumb: true } as unknown as Terminal;
    const typed = promptLine(terminal, "> ", new AbortController().signal);
    while (!existsSync(join(path, "typed"))) standStill(5);
    standStill(200);
    expect(await typed).toEqual({ kind: "text", text: "answer" });
  });

  it("takes replies of the terminal, mouse reports and chords for nothing, and every byte of a paste for text", async () => {
    const pane = await asking(80);
    pane.send("a\x1b[<65;10;10M\x1b]11;rgb:1e1e/1e1e/2e2e\x07\x1bb\x1bx\x1b[120;1:3u");
    pane.send("\x1b[200~one \x15\x03\x04\rtwo\x1b[201~");
    await pane.shows("> one\n> twoa");
    pane.type("Enter");
    await pane.asks("The question 2?");
    pane.type("Escape");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toContain(String.raw`answers ["one \ntwoa","left"]`);
  });

  it.each([
    ["SIGHUP", 129],
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("leaves the terminal as it was when it dies by %s", async (signal, code) => {
    const pane = await asking(80);
    const written = join(directoryHere(), "written");
    pane.record(written);
    pane.type("half");
    await pane.shows("> half");
    process.kill(pane.pid(), signal);
    expect(await pane.exit()).toBe(code);
    await until("the marks of pastes to be off", () => readFileSync(written, "utf8").includes("\u001B[?2004l"));
  });

  it("goes on with what was typed after Ctrl-Z and fg, below another program", async () => {
    const bash = ["bash", "--noprofile", "--norc", "-i"];
    const pane = openTerminal(directoryHere(), bash, { columns: 100, env: { PS1: "$ ", LC_ALL: "C" } });
    const finish = async (command: string, marker: string) => {
      pane.type(`${command} && echo ${marker[0]}'${marker.slice(1)}'`, "Enter");
      await pane.shows(`\n${marker}\n`);
    };
    await finish("stty -a > modes", "kept");
    pane.type(`sh -c '${process.execPath} ${PROGRAM}; true'`, "Enter");
    await pane.asks("The question 1?");
    pane.type("ne", "C-z");
    await pane.shows("Stopped");
    await finish("stty -a | diff modes -", "same");
    pane.type("fg", "Enter");
    await pane.shows("2  next\n> ne\n\n");
    pane.type("xt", "Enter");
    await pane.asks("The question 2?");
    pane.type("C-z");
    await pane.shows("Stopped", 2);
    pane.type("fg", "Enter");
    await pane.asks("The question 2?", 2);
    pane.type("C-d");
    await pane.shows('answers ["next","left"]');
    pane.type("stty -a | diff modes - && exit", "Enter");
    expect(await pane.exit()).toBe(0);
  });

  it("goes on at once after Ctrl-Z where no shell could continue it", async () => {
    const pane = await asking(80);
    pane.type("ne", "C-z", "xt", "Enter");
    await pane.asks("The question 2?");
    pane.type("C-d");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toContain('answers ["next","left"]');
  });

  it("takes the terminal back after it was stopped from outside", async () => {
    const pane = await asking(80);
    process.kill(pane.pid(), "SIGSTOP");
    pane.sane();
    process.kill(pane.pid(), "SIGCONT");
    await pane.asks("The question 1?", 2);
    pane.type("next", "Left", "Enter");
    await pane.asks("The question 2?");
    pane.type("C-d");
    expect(await pane.exit()).toBe(0);
    expect(pane.screen()).toContain('answers ["next","left"]');
  });
});
