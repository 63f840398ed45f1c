import { relative } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { formatDuration } from "../lib/durations.ts";
import { shellWord } from "../lib/shell-word.ts";
import { replaceUnsafe } from "../lib/terminal-text.ts";
import type { Failure } from "../protocol/failure.ts";
import { fillScratch, findSource, makeScratch, removeScratch, type Scratch, type Source } from "./demo/scratch.ts";
import { Screen } from "./demo/screen.ts";
import { DemoSession } from "./demo/session.ts";
import { tellStory } from "./demo/story.ts";
import { counted } from "./survey/finding.ts";

const INTERRUPTED = 130;
const INTERNAL = 70;
/** Exit codes of `bosun demo` by failure code (SPEC.md). */
const EXIT_CODES: Readonly<Partial<Record<Failure["code"], number>>> = {
  usage: 2,
  environment: 3,
  verification_failed: 6,
};

/** The options that `bosun demo` passes. */
const OPTIONS = {
  /** The file of the `bosun` program. */
  program: { type: "string", default: "" },
  /** How the user calls the program. */
  typed: { type: "string", default: "bosun" },
  home: { type: "string", default: "" },
  /** The folder where Bosun is installed. The demo copies it if the user is not in a repository. */
  installed: { type: "string", default: "" },
  /** The plan file for the crew, and the one for the user to try next. */
  plan: { type: "string", default: "" },
  "next-plan": { type: "string", default: "" },
  reporter: { type: "string", default: "plain" },
  keep: { type: "boolean", default: false },
  interactive: { type: "boolean", default: false },
} as const;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const { program, home, typed, plan, keep } = values;
  const directory = process.cwd();
  const { stdout } = process;
  const screen = new Screen(values.reporter, directory, (text) => stdout.write(text), stdout.columns);
  const fail = ({ code, message, hint }: Failure): number => {
    complain(`Error: ${message}`);
    if (hint !== undefined) complain(`  ${hint.replace(/(?<= )bosun (?=[a-z])/, `${typed} `)}`);
    return EXIT_CODES[code] ?? INTERNAL;
  };

  const source = await findSource(directory, positionals[0], values.installed);
  if (!source.ok) return fail(source.error);
  const interruption = new AbortController();
  const scratch = makeScratch(source.value);
  const bosun = { program, home, scratch };
  const session = new DemoSession(bosun, interruption.signal);
  listenToParent(() => {
    if (interruption.signal.aborted) return session.hurry();
    complain("Stopping: the session is cancelled and the scratch copy removed. Press Ctrl-C again to hurry.");
    interruption.abort();
  });
  const terminal = values.interactive ? openTerminal(interruption.signal) : undefined;
  try {
    screen.say(
      "A manager and two workers survey a copy of a repository. Then we kill their scheduler, another process goes on, and we check the record of it all. No model, no key, no network.",
      0,
    );
    const filled = await fillScratch(source.value, scratch, interruption.signal);
    if (filled.ok) showScratch(screen, source.value, scratch);
    const kept = filled.ok ? await tellStory({ screen, bosun, session, plan, ask: terminal?.ask }) : filled;
    if (interruption.signal.aborted) {
      await session.leave();
      const record = session.session_id === "" ? "" : ` The record of ${session.session_id} stays, cancelled.`;
      complain(`Interrupted: nothing runs any more.${record} To see it whole: ${typed} demo`);
      return INTERRUPTED;
    }
    if (!kept.ok) return fail(kept.error);
    const { session_id } = session;
    const folder = keep ? scratch.folder : undefined;
    const title = `Done in ${formatDuration(screen.elapsed_ms)}. This stays:`;
    screen.section("result", { session_id, ...kept.value, scratch: folder }, title);
    screen.copyable([
      ["findings", screen.path(kept.value.findings)],
      ["report", screen.path(kept.value.report)],
      ["page", screen.path(kept.value.page)],
      ["log", screen.path(kept.value.log)],
      ["session", session_id],
      ...(folder === undefined ? [] : [["scratch", folder] as const]),
    ]);
    showNextSteps(screen, session_id, kept.value.page, source.value, values);
    return 0;
  } finally {
    terminal?.close();
    await session.leave();
    if (!keep) removeScratch(scratch);
  }
}

function showScratch(screen: Screen, { directory, head, uncommitted }: Source, { work }: Scratch): void {
  const facts = { source: directory, work, head, uncommitted, pid: process.pid };
  screen.section("scratch", facts, "A scratch copy; your files are only read");
  const missing = uncommitted === 0 ? "" : `, without ${counted(uncommitted, "changed or new file")}`;
  screen.copyable([
    ["of", directory],
    ["in", work],
    ["holds", head === undefined ? "its files, without history" : `the last commit, ${head.slice(0, 10)}${missing}`],
  ]);
}

/** Shows what to type next, in the current directory. */
function showNextSteps(
  screen: Screen,
  session_id: string,
  page: string,
  { directory }: Source,
  { typed, installed, "next-plan": plan }: { typed: string; installed: string; "next-plan": string },
): void {
  const inside = directory !== installed && !relative(directory, process.cwd()).startsWith("..");
  const steps = [
    ["See all of it in a browser", pathToFileURL(page).href],
    ["Verify the record again", `${typed} replay ${session_id} --verify`],
    ["See the session", `${typed} status ${session_id}`],
    [
      `Check a release of ${inside ? "this" : "your own"} repository`,
      `${typed} run --plan ${shellWord(screen.path(plan))}${inside ? "" : " --cwd YOUR-REPOSITORY"}`,
    ],
  ] as const;
  for (const [what, command] of steps) {
    screen.blank();
    screen.say(`${what}:`, 3, "dim");
    screen.copyable([["", command]]);
  }
}

/**
 * The parent sends SIGTERM for each signal that it gets, so a Ctrl-C that reaches this process directly is ignored.
 * When the parent dies, its channel closes.
 */
function listenToParent(interrupt: () => void): void {
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  process.on("SIGTERM", interrupt);
  process.once("disconnect", interrupt);
  process.channel?.unref();
}

/** Asks at the terminal. An interruption or the end of the input counts as Enter. */
function openTerminal(interrupted: AbortSignal) {
  const input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();
  const interruption = new Promise<string>((resolve) => interrupted.addEventListener("abort", () => resolve("")));
  const typed = async () => {
    const line = await lines.next();
    return line.done === true ? "" : line.value;
  };
  return {
    ask: (prompt: string): Promise<string> => {
      process.stdout.write(prompt);
      return Promise.race([typed(), interruption]);
    },
    close: () => input.close(),
  };
}

function complain(text: string): void {
  process.stderr.write(`${replaceUnsafe(text, () => " ")}\n`);
}

process.exitCode = await main().catch((error: Error) => {
  complain(`The demo failed: ${error.stack ?? error.message}`);
  return INTERNAL;
});
