import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { entriesOf } from "../../config/found.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { databasePath } from "../../store/database.ts";
import { resolveHome } from "../../config/home.ts";
import { rememberHome } from "../../config/known-homes.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Failure } from "../../protocol/failure.ts";
import { ACCEPT_SHARED_HOME } from "../../store/failures.ts";
import { fileSystemOf } from "../../store/file-system.ts";
import { openReader, openStore, type SharedHome } from "../../store/sqlite-store.ts";
import type { Store, StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import type { CommandContext } from "./command.ts";

/** A home with its open store, which `withHome` closes. */
export interface OpenHome<S extends StoreReader> {
  readonly home: string;
  readonly store: S;
}

/** The path of this command's home, which may not exist. */
export function homeOf({ home, environment, directory }: CommandContext): Result<string, Failure> {
  return resolveHome(home, environment, directory);
}

/** Does the work with an open home, and closes its store. */
export async function withHome<S extends StoreReader>(
  opened: Result<OpenHome<S>, Failure>,
  work: (home: OpenHome<S>) => Promise<Result<number, Failure>>,
): Promise<Result<number, Failure>> {
  if (!opened.ok) return opened;
  try {
    return await work(opened.value);
  } finally {
    opened.value.store.close();
  }
}

/** Remembers a home that a person named: from now on it can be found. */
function opened<S extends StoreReader>(
  context: CommandContext,
  home: string,
  store: Result<S, Failure>,
): Result<OpenHome<S>, Failure> {
  if (!store.ok) return store;
  if (isNamed(context)) rememberHome(context.environment, home);
  return ok({ home, store: store.value });
}

function isNamed({ home, environment }: CommandContext): boolean {
  return home !== undefined || (environment.BOSUN_HOME ?? "") !== "";
}

/** Opens the home for writing; creates it if it does not exist. */
export function openHome(context: CommandContext): Result<OpenHome<Store>, Failure> {
  const home = homeOf(context);
  if (!home.ok) return home;
  const { environment, terminal } = context;
  const store = openStore(home.value, sharedHome(environment));
  const { name, safety } = fileSystemOf(home.value);
  if (store.ok && safety === "depends") terminal.err.line(`Warning: ${safeLine(doubt(home.value, name))}`);
  return opened(context, home.value, store);
}

function sharedHome(environment: CommandContext["environment"]): SharedHome {
  return { accept: environment[ACCEPT_SHARED_HOME] === "accept" };
}

function doubt(home: string, file_system: string): string {
  return `${home} is on ${file_system}: whether a database is safe there depends on what is behind it. A disk of this machine always is.`;
}

/** Opens the home for reading; `not_found` if it does not exist. */
export function readHome(context: CommandContext): Result<OpenHome<StoreReader>, Failure> {
  const home = homeOf(context);
  if (!home.ok) return home;
  const store = openReader(home.value, sharedHome(context.environment));
  if (store.ok || store.error.code !== "not_found" || isNamed(context)) return opened(context, home.value, store);
  const others = homesBeside(home.value).map((other) => `Another home: bosun status --home ${shellWord(other)}`);
  return err({ ...store.error, hint: [...others, store.error.hint ?? ""].join("\n") });
}

/** Opens an existing home for writing; `not_found` if it does not exist. */
export function openExistingHome(context: CommandContext): Result<OpenHome<Store>, Failure> {
  const home = homeOf(context);
  if (!home.ok) return home;
  if (existsSync(databasePath(home.value))) return openHome(context);
  const missing = readHome(context);
  return missing.ok ? openHome(context) : missing;
}

/** How many other homes a hint names. */
const HOMES_NAMED = 3;

/** Homes in the same folder as one that does not exist, the latest first: after a repository was moved its sessions are in one of them. */
function homesBeside(home: string): string[] {
  const entries = entriesOf(dirname(home));
  return (entries.ok ? (entries.value ?? []) : [])
    .map(({ name }) => join(dirname(home), name))
    .flatMap((path) => {
      const database = statSync(databasePath(path), { throwIfNoEntry: false });
      return database === undefined ? [] : [{ path, time: database.mtimeMs }];
    })
    .toSorted((one, other) => other.time - one.time)
    .slice(0, HOMES_NAMED)
    .map(({ path }) => path);
}
