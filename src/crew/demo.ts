import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { formatDuration } from "../lib/durations.ts";
import { shellWord } from "../lib/shell-word.ts";
import { replaceUnsafe } from "../lib/terminal-text.ts";
import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { Bosun } from "./demo/bosun.ts";
import { fillScratch, makeScratch, removeScratch } from "./demo/scratch.ts";
import { Screen } from "./demo/screen.ts";
import { tellStory } from "./demo/story.ts";

const INTERRUPTED = 130;
const INTERNAL = 70;

/** What `bosun demo` passes, as JSON. */
interface Wishes {
  readonly program: string;
  /** How the user calls the program. */
  readonly typed: string;
  readonly home: string;
  readonly installed: string;
  readonly reporter: string;
  readonly keep: boolean;
  readonly interactive: boolean;
}

async function main(): Promise<Fallible<number>> {
  const wishes = JSON.parse(process.argv[2] ?? "") as Wishes;
  const { program, home, typed, installed, keep, interactive } = wishes;
  const { stdout } = process;
  const screen = new Screen(wishes.reporter, process.cwd(), (text) => stdout.write(text), stdout.columns);
  const interruption = new AbortController();
  const { signal } = interruption;
  const scratch = makeScratch();
  const bosun = new Bosun({ program, home, scratch, interrupted: signal });
  listenToParent(() => {
    if (signal.aborted) return void bosun.command?.kill("SIGTERM");
    complain("Stopping: the session is cancelled and the scratch repository removed. Press Ctrl-C again to hurry.");
    interruption.abort();
  });
  const ask = interactive ? askAtTerminal(signal) : undefined;
  try {
    screen.say(
      "A manager and two workers change a small repository, two of them the same line. We kill their scheduler, another process goes on, and all of it is merged, tested and taken back. No model, no key, no network.",
      0,
    );
    const filled = await fillScratch(join(installed, "examples", "demo"), scratch, signal);
    signal.throwIfAborted();
    if (!filled.ok) return filled;
    const facts = { work: scratch.work, home, pid: process.pid };
    screen.section("scratch", facts, "A repository to try it on; yours are not looked at");
    screen.copyable("in", scratch.work);
    screen.row("holds", "a shop: prices, their tests, one commit");
    screen.copyable("record in", screen.path(home));
    const plan = join(installed, "examples", "demo.yaml");
    const kept = await tellStory({ screen, bosun, plan, ask });
    if (!kept.ok) return kept;
    const { session_id } = bosun;
    const stays = { ...kept.value, session_id, ...(keep ? { scratch: scratch.folder } : {}) };
    screen.section("result", stays, `Done in ${formatDuration(performance.now())}. This stays:`);
    for (const [name, path] of Object.entries(kept.value)) screen.copyable(name, screen.path(path));
    screen.copyable("session", session_id);
    if (keep) screen.copyable("scratch", scratch.folder);
    showNextSteps(screen, session_id, kept.value.page, typed, installed);
    return ok(0);
  } catch (error) {
    if (!signal.aborted) throw error;
    await bosun.cancel();
    const record = bosun.session_id === "" ? "" : ` The record of ${bosun.session_id} stays, cancelled.`;
    complain(`Interrupted: nothing runs any more.${record} To see it whole: ${typed} demo`);
    return ok(INTERRUPTED);
  } finally {
    if (interactive) process.stdin.destroy();
    await bosun.cancel();
    if (!keep) removeScratch(scratch);
  }
}

/** Shows what to type next, in the current directory. */
function showNextSteps(screen: Screen, session_id: string, page: string, typed: string, installed: string): void {
  const plan = shellWord(screen.path(join(installed, "examples", "release-check.yaml")));
  const steps = {
    "See all of it in a browser": pathToFileURL(page).href,
    "Verify the record again": `${typed} replay ${session_id} --verify`,
    "See what it changed": `${typed} diff ${session_id}`,
    "Check a release of your own repository": `${typed} run --plan ${plan} --cwd YOUR-REPOSITORY`,
  };
  for (const [what, command] of Object.entries(steps)) {
    screen.blank();
    screen.say(`${what}:`, 3, "dim");
    screen.copyable("", command, 2);
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
function askAtTerminal(interrupted: AbortSignal): (prompt: string) => Promise<string> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const interruption = once(interrupted, "abort").then(() => undefined);
  return async (prompt) => {
    process.stdout.write(prompt);
    const line = await Promise.race([lines.next(), interruption]);
    return line?.value ?? "";
  };
}

function complain(text: string): void {
  process.stderr.write(`${replaceUnsafe(text, () => " ")}\n`);
}

try {
  const done = await main();
  process.exitCode = done.ok ? done.value : INTERNAL;
  if (!done.ok) process.send?.(done.error);
} catch (error) {
  complain(`The demo failed: ${(error as Error).stack}`);
  process.exitCode = INTERNAL;
}
