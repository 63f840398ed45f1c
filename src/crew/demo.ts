import { once } from "node:events";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { formatDuration } from "../lib/durations.ts";
import { shellWord } from "../lib/shell-word.ts";
import { replaceUnsafe } from "../lib/terminal-text.ts";
import { ok } from "../lib/result.ts";
import type { Fallible } from "../protocol/failure.ts";
import { Bosun } from "./demo/bosun.ts";
import { fillScratch, findSource, makeScratch, removeScratch, type Scratch, type Source } from "./demo/scratch.ts";
import { Screen } from "./demo/screen.ts";
import { tellStory } from "./demo/story.ts";
import { counted } from "./survey/finding.ts";

const INTERRUPTED = 130;
const INTERNAL = 70;

/** What `bosun demo` passes, as JSON. */
interface Wishes {
  /** The file of the `bosun` program. */
  readonly program: string;
  /** How the user calls the program. */
  readonly typed: string;
  readonly home: string;
  /** The folder where Bosun is installed. The demo copies it if the user is not in a repository. */
  readonly installed: string;
  readonly reporter: string;
  readonly keep: boolean;
  readonly interactive: boolean;
  /** The repository, as typed. */
  readonly directory?: string;
}

async function main(): Promise<Fallible<number>> {
  const wishes = JSON.parse(process.argv[2] ?? "") as Wishes;
  const { program, home, typed, installed, keep, interactive } = wishes;
  const { stdout } = process;
  const screen = new Screen(wishes.reporter, process.cwd(), (text) => stdout.write(text), stdout.columns);
  const source = await findSource(process.cwd(), wishes.directory, installed);
  if (!source.ok) return source;
  const interruption = new AbortController();
  const { signal } = interruption;
  const scratch = makeScratch(source.value);
  const bosun = new Bosun({ program, home, scratch, interrupted: signal });
  listenToParent(() => {
    if (signal.aborted) return void bosun.command?.kill("SIGTERM");
    complain("Stopping: the session is cancelled and the scratch copy removed. Press Ctrl-C again to hurry.");
    interruption.abort();
  });
  const ask = interactive ? askAtTerminal(signal) : undefined;
  try {
    screen.say(
      "A manager and two workers survey a copy of a repository. Then we kill their scheduler, another process goes on, and we check the record of it all. No model, no key, no network.",
      0,
    );
    const filled = await fillScratch(source.value, scratch, signal);
    signal.throwIfAborted();
    if (!filled.ok) return filled;
    showScratch(screen, source.value, scratch);
    const plan = join(installed, "examples", "survey.yaml");
    const kept = await tellStory({ screen, bosun, plan, ask });
    if (!kept.ok) return kept;
    const { session_id } = bosun;
    const stays = { ...kept.value, session_id, ...(keep ? { scratch: scratch.folder } : {}) };
    screen.section("result", stays, `Done in ${formatDuration(performance.now())}. This stays:`);
    for (const [name, path] of Object.entries(kept.value)) screen.copyable(name, screen.path(path));
    screen.copyable("session", session_id);
    if (keep) screen.copyable("scratch", scratch.folder);
    showNextSteps(screen, session_id, kept.value.page, source.value, typed, installed);
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

function showScratch(screen: Screen, { directory, head, uncommitted }: Source, { work }: Scratch): void {
  const facts = { source: directory, work, head, uncommitted, pid: process.pid };
  screen.section("scratch", facts, "A scratch copy; your files are only read");
  const missing = uncommitted === 0 ? "" : `, without ${counted(uncommitted, "changed or new file")}`;
  screen.copyable("of", directory);
  screen.copyable("in", work);
  const commit = head === undefined ? "its files, without history" : `the last commit, ${head.slice(0, 10)}${missing}`;
  screen.copyable("holds", commit);
}

/** Shows what to type next, in the current directory. */
function showNextSteps(
  screen: Screen,
  session_id: string,
  page: string,
  { directory }: Source,
  typed: string,
  installed: string,
): void {
  const inside = directory !== installed && !relative(directory, process.cwd()).startsWith("..");
  const plan = shellWord(screen.path(join(installed, "examples", "release-check.yaml")));
  const steps = {
    "See all of it in a browser": pathToFileURL(page).href,
    "Verify the record again": `${typed} replay ${session_id} --verify`,
    "See the session": `${typed} status ${session_id}`,
    [`Check a release of ${inside ? "this" : "your own"} repository`]: `${typed} run --plan ${plan}${inside ? "" : " --cwd YOUR-REPOSITORY"}`,
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
