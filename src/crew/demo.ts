import { relative } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { shellWord } from "../lib/shell-word.ts";
import { replaceUnsafe } from "../lib/terminal-text.ts";
import type { Failure } from "../protocol/failure.ts";
import { play } from "./demo/play.ts";
import { fillScratch, makeScratch, removeScratch } from "./demo/scratch.ts";
import { DemoSession } from "./demo/session.ts";
import { findSource, type Source } from "./demo/source.ts";
import type { DemoResult } from "./demo/story.ts";
import { teller } from "./demo/tell.ts";

const INTERRUPTED = 130;
const INTERNAL = 70;
/** The exit codes of `bosun demo` by the code of its failure (SPEC.md). */
const EXIT_CODES: Readonly<Partial<Record<Failure["code"], number>>> = {
  usage: 2,
  environment: 3,
  verification_failed: 6,
};

/** How `bosun demo` starts this program. */
const OPTIONS = {
  /** The file of the `bosun` program. */
  program: { type: "string", default: "" },
  /** What the user types for it here. */
  typed: { type: "string", default: "bosun" },
  home: { type: "string", default: "" },
  /** The folder that Bosun is installed in: the source where the user stands in no repository. */
  installed: { type: "string", default: "" },
  /** The plan that the crew carries out, and the one that the user is to try next. */
  plan: { type: "string", default: "" },
  "next-plan": { type: "string", default: "" },
  reporter: { type: "string", default: "plain" },
  keep: { type: "boolean", default: false },
  interactive: { type: "boolean", default: false },
} as const;

async function main(): Promise<number> {
  const began = performance.now();
  const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true });
  const { program, home, keep, plan } = values;
  const directory = process.cwd();
  const tell = teller(values.reporter, directory, (line) => process.stdout.write(`${line}\n`));
  const fail = (failure: Failure): number => {
    const exit_code = EXIT_CODES[failure.code] ?? INTERNAL;
    tell({ type: "failed", exit_code, error: failure });
    complain(`Error: ${failure.message}`);
    if (failure.hint !== undefined) complain(`  ${failure.hint.replace(/(?<= )bosun (?=[a-z])/, `${values.typed} `)}`);
    return exit_code;
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
  const person = values.interactive ? askAtTerminal(interruption.signal) : undefined;
  try {
    tell({ type: "hello", source: source.value.directory, home, pid: process.pid });
    const filled = await fillScratch(source.value, scratch, home, interruption.signal);
    if (filled.ok) {
      const { directory: of, uncommitted } = source.value;
      tell({ type: "scratch", source: of, work: scratch.work, head: filled.value, uncommitted });
    }
    const played = filled.ok ? await play({ bosun, session, tell, plan, ask: person?.ask }) : filled;
    if (interruption.signal.aborted) {
      // What follows from the interruption is no failure of its own.
      const kept = session.session_id === "" ? "" : ` The record of ${session.session_id} stays, cancelled.`;
      await session.leave();
      tell({ type: "failed", exit_code: INTERRUPTED, error: { code: "interrupted", message: "Interrupted." } });
      complain(`Interrupted: nothing runs any more.${kept} To see it whole: ${values.typed} demo`);
      return INTERRUPTED;
    }
    if (!played.ok) return fail(played.error);
    tell({
      type: "result",
      exit_code: 0,
      ...played.value,
      kept: keep ? scratch.folder : null,
      elapsed_ms: performance.now() - began,
      next: nextSteps(values, directory, source.value, played.value.session_id),
    });
    return 0;
  } finally {
    person?.close();
    await session.leave();
    if (!keep) removeScratch(scratch);
  }
}

/**
 * The parent sends SIGTERM for each signal that it gets. Ctrl-C at the terminal reaches this process too, and is left
 * to the parent. When the parent dies, its channel closes.
 */
function listenToParent(interrupt: () => void): void {
  for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  process.on("SIGTERM", interrupt);
  process.once("disconnect", interrupt);
  process.channel?.unref();
}

/** Asks on the terminal; an interruption or the end of the input counts as Enter. */
function askAtTerminal(interrupted: AbortSignal) {
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

/** What to type now, as it works from the current directory. */
function nextSteps(
  { typed, installed, "next-plan": plan }: { typed: string; installed: string; "next-plan": string },
  current: string,
  source: Source,
  session_id: string,
): DemoResult["next"] {
  const inside = source.directory !== installed && !relative(source.directory, current).startsWith("..");
  const near = relative(current, plan);
  const file = shellWord(near.startsWith("..") ? plan : near);
  return [
    { what: "Verify the record again", command: `${typed} replay ${session_id} --verify` },
    { what: "See the session", command: `${typed} status ${session_id}` },
    {
      what: inside ? "Check a release of this repository" : "Check a release of your own repository",
      command: `${typed} run --plan ${file}${inside ? "" : " --cwd YOUR-REPOSITORY"}`,
    },
  ];
}

function complain(text: string): void {
  process.stderr.write(`${replaceUnsafe(text, () => " ")}\n`);
}

process.exitCode = await main().catch((error: Error) => {
  complain(`The demo failed: ${error.stack ?? error.message}`);
  return INTERNAL;
});
