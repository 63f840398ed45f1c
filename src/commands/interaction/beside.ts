import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../../lib/git-directories.ts";
import { gitIn } from "../../lib/git.ts";
import { ok } from "../../lib/result.ts";
import { EXIT_INTERRUPTED } from "../../runtime/exit.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeText } from "../../ui/display.ts";
import { promptLine } from "../../ui/prompt.ts";
import type { BesideAction } from "../../ui/tui/view.ts";
import type { CommandContext } from "../context/command.ts";
import { paged } from "../context/paged.ts";
import { ownArguments } from "../context/program.ts";
import { allHomes, lookIntoAll } from "../lookup/homes.ts";
import { isGeneratedId } from "../lookup/id.ts";
import { runningSessions } from "../lookup/resolve.ts";
import { openedWith } from "../lookup/state.ts";
import { openEditor } from "./plan-edit.ts";

interface Beside {
  readonly context: CommandContext;
  readonly home: string;
  readonly store: StoreReader;
  readonly session_id: string;
}

/** The repository of a session's workspace; undefined if that is in none. */
export function repositoryOf({ store, session_id }: Beside): string | undefined {
  const row = store.session(session_id);
  return row.ok ? repositoryRoot(row.value.workspace) : undefined;
}

/** Whether the session's tickets work in copies of the repository. */
export function hasCopies({ store, session_id }: Beside): boolean {
  return openedWith(store, session_id)?.repository !== undefined;
}

/** Runs `bosun merge` at this terminal, and returns its exit code. */
export function mergeHere({ context, home, session_id }: Beside): Promise<number> {
  return uninterrupted(() => runOwn(context, home, ["merge", session_id]));
}

/** Shows something beside the dashboard, on the normal screen, until the person goes back. Returns what the dashboard is to say. */
export function showBeside(beside: Beside, { do: what, ticket_id }: BesideAction): Promise<string> {
  const { context, home, session_id } = beside;
  const about = what !== "report" && ticket_id !== undefined ? [ticket_id] : [];
  return uninterrupted(async () => {
    if (what === "edit") return edit(beside, ticket_id);
    if (what === "next") return showNext(beside);
    if (what === "diff" && !hasCopies(beside)) await showDiff(beside);
    else await runOwn(context, home, [what, session_id, ...about]);
    const terminal = { ...context.terminal, returns: true };
    await promptLine(terminal, "Enter goes back to the dashboard.\n> ", new AbortController().signal);
    return "";
  });
}

/** Runs work with another program at this terminal, whose Ctrl-C would stop the session: the terminal sends it to every process here. */
async function uninterrupted<T>(work: () => Promise<T>): Promise<T> {
  const listeners = process.listeners("SIGINT");
  process.removeAllListeners("SIGINT").on("SIGINT", ignore);
  try {
    return await work();
  } finally {
    process.off("SIGINT", ignore);
    for (const listener of listeners) process.on("SIGINT", listener);
  }
}

/** The ticket's folder, else the plan, else the workspace. */
async function edit({ context, home, store, session_id }: Beside, ticket_id: string | undefined): Promise<string> {
  const paths = sessionPaths(home, session_id);
  const row = store.session(session_id);
  const plan = join(paths.folder, "plan-to-read.yaml");
  rmSync(plan, { force: true });
  if (ticket_id === undefined) await runOwn(context, home, ["plan", session_id, "--export", plan], "ignore");
  const wanted = [
    ticket_id === undefined ? plan : paths.work(ticket_id),
    row.ok ? row.value.workspace : context.directory,
  ];
  const edited = await openEditor(context, wanted.find((path) => existsSync(path)) ?? context.directory);
  return edited.ok ? "" : edited.error.message;
}

/** Attaches to the running session of any home that comes after this one; who leaves it is back here. */
async function showNext({ context, session_id }: Beside): Promise<string> {
  const homes = allHomes(context);
  const running = async (store: StoreReader, home: string) => runningSessions(store).map((row) => ({ ...row, home }));
  const looked = homes.ok ? await lookIntoAll(context, homes.value, running) : homes;
  if (!looked.ok) return looked.error.message;
  const others = looked.value.flatMap((one) =>
    one.ok ? one.value.filter((row) => row.session_id !== session_id) : [],
  );
  const sorted = others.toSorted((a, b) => (a.session_id < b.session_id ? -1 : 1));
  const next = sorted.find((one) => one.session_id > session_id) ?? sorted[0];
  if (next === undefined) return "No other session is running.";
  // A home that is named is the only one, also for the next session from there.
  await runOwn(context, isGeneratedId(next.session_id) ? context.home : next.home, ["attach", next.session_id]);
  return "";
}

async function showDiff(beside: Beside): Promise<void> {
  const { context } = beside;
  const git = gitIn({ ...context.environment });
  const root = repositoryOf(beside) ?? context.directory;
  // Before the first commit there is no HEAD.
  const diff = () => git(root, ["diff", "HEAD"]).catch(() => git(root, ["diff"]));
  const read = async () => `${await git(root, ["status", "--short"])}\n\n${await diff()}`;
  const text = await read().catch((error: unknown) => (error as Error).message);
  await paged(context, {}, true, async ({ terminal: { out } }) => {
    for (const line of safeText(text).split("\n"))
      out.line(/^[+-]/.test(line) ? out.style(line.startsWith("+") ? "green" : "red", line) : line);
    return ok(0);
  });
}

/** Runs a command of this program, at this terminal. */
async function runOwn(
  context: CommandContext,
  home: string | undefined,
  words: readonly string[],
  stdio: "inherit" | "ignore" = "inherit",
): Promise<number> {
  const { execa } = await import("execa");
  const { directory: cwd, environment: env } = context;
  const own = ownArguments([...(home === undefined ? [] : ["--home", home]), ...words]);
  const ran = await execa(process.execPath, own, { cleanup: false, cwd, env, reject: false, stdio });
  return ran.exitCode ?? EXIT_INTERRUPTED;
}

function ignore(): void {}
