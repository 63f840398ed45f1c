import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { shellWord } from "../../lib/shell-word.ts";
import { databasePath } from "../../store/database.ts";
import { closeHome, isKnownHome, knownHomes, rememberHome, resolveHome } from "../../config/home.ts";
import { err, ok } from "../../lib/result.ts";
import type { Failure, Fallible } from "../../protocol/failure.ts";
import { insideOf } from "../../protocol/inside-turn.ts";
import { ACCEPT_SHARED_HOME } from "../../store/failures.ts";
import { fileSystemOf } from "../../store/file-system.ts";
import { openReader, openStore, type SharedHome } from "../../store/sqlite-store.ts";
import type { Store, StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import type { CommandContext } from "./command.ts";
import { invocationName } from "./invocation.ts";

/** A home with its open store, which `withHome` closes. */
export interface OpenHome<S extends StoreReader> {
  readonly home: string;
  readonly store: S;
}

/** The path of this command's home, which may not exist. */
export function homeOf({ home, environment, directory }: CommandContext): Fallible<string> {
  return resolveHome(home, environment, directory);
}

/** Runs work with an open home, then closes its store. */
export async function withHome<S extends StoreReader, T>(
  opened: Fallible<OpenHome<S>>,
  work: (home: OpenHome<S>) => Promise<Fallible<T>>,
): Promise<Fallible<T>> {
  if (!opened.ok) return opened;
  try {
    return await work(opened.value);
  } finally {
    opened.value.store.close();
  }
}

/** Remembers a home that a person named, so that it is found from now on. */
function opened<S extends StoreReader>(
  context: CommandContext,
  home: string,
  store: Fallible<S>,
): Fallible<OpenHome<S>> {
  if (!store.ok) return store;
  if (isNamed(context) && insideOf(context.environment) === undefined) {
    rememberHome(context.environment, home);
    tellAnywhere(context, home);
  }
  return ok({ home, store: store.value });
}

/** Lets printed commands omit `--home`, because a session in a remembered home is found by its id. `BOSUN_HOME` would hide that home. */
function tellAnywhere(
  { environment, directory, home: named, terminal: { out, err: messages } }: CommandContext,
  home: string,
): void {
  if (named === undefined || hasHomeVariable(environment) || !isKnownHome(environment, home)) return;
  const anywhere = invocationName({ directory, environment, home: undefined });
  out.anywhere = anywhere;
  messages.anywhere = anywhere;
}

function hasHomeVariable({ BOSUN_HOME = "" }: CommandContext["environment"]): boolean {
  return BOSUN_HOME !== "";
}

/** Whether the command line or the environment names the home, which is then the only one. */
export function isNamed({ home, environment }: CommandContext): boolean {
  return home !== undefined || hasHomeVariable(environment);
}

/** Opens the home for writing; creates it if it does not exist. */
export function openHome(context: CommandContext): Fallible<OpenHome<Store>> {
  const home = homeOf(context);
  return home.ok ? openHomeAt(context, home.value) : home;
}

/** Opens this home for writing; creates it if it does not exist. */
export function openHomeAt(context: CommandContext, home: string): Fallible<OpenHome<Store>> {
  const { environment, terminal } = context;
  const isOld = existsSync(databasePath(home));
  const store = openStore(home, sharedHome(environment));
  const open = store.ok ? closeHome(environment, home) : [];
  if (isOld && open.length > 0) terminal.err.line(safeLine(`Tightened: other users could open ${open.join(", ")}.`));
  const { name, safety } = fileSystemOf(home);
  if (store.ok && safety === "depends")
    terminal.err.line(
      `Warning: ${safeLine(home)} is on ${safeLine(name)}: whether a database is safe there depends on what is behind it.`,
    );
  return opened(context, home, store);
}

/** Opens this home for reading; `not_found` if it does not exist. */
export function readHomeAt(context: CommandContext, home: string): Fallible<OpenHome<StoreReader>> {
  return opened(context, home, openReader(home, sharedHome(context.environment)));
}

function sharedHome(environment: CommandContext["environment"]): SharedHome {
  return { accept: environment[ACCEPT_SHARED_HOME] === "accept" };
}

/** Opens the home for reading; `not_found` if it does not exist. */
export function readHome(context: CommandContext): Fallible<OpenHome<StoreReader>> {
  const home = homeOf(context);
  if (!home.ok) return home;
  const read = readHomeAt(context, home.value);
  if (read.ok || read.error.code !== "not_found") return read;
  return err({ ...read.error, hint: [...otherHomesLines(context, home.value), read.error.hint ?? ""].join("\n") });
}

/** Opens an existing home for writing; `not_found` if it does not exist. */
export function openExistingHome(context: CommandContext): Fallible<OpenHome<Store>> {
  const home = homeOf(context);
  if (!home.ok) return home;
  if (existsSync(databasePath(home.value))) return openHome(context);
  const missing = readHome(context);
  return missing.ok ? openHome(context) : missing;
}

/** The other homes of this user, most recently used first; none if one is named, which is then the only one. */
export function otherHomes(context: CommandContext, home: string | undefined): string[] {
  if (isNamed(context)) return [];
  const here = home !== undefined && existsSync(home) ? realpathSync(home) : home;
  return knownHomes(context.environment).filter((other) => other !== here);
}

/** Whether a home was simply never used: `--home` was not given, and the home has no logs. */
export function isUnused({ home: typed }: CommandContext, home: string, { code }: Failure): boolean {
  return code === "not_found" && typed === undefined && !existsSync(join(home, "logs"));
}

/** Maximum number of other homes that are named. */
const HOMES_NAMED = 3;

/** Names other homes, because after a repository was moved its sessions are in another home. */
export function otherHomesLines(context: CommandContext, home: string): string[] {
  return otherHomes(context, home)
    .slice(0, HOMES_NAMED)
    .map((other) => `Another home: bosun status --home ${shellWord(other)}`);
}
