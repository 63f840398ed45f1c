import type { Environment } from "../config/found.ts";
import { resolveHome } from "../config/home.ts";
import type { Failure } from "../protocol/failure.ts";
import { shellWord } from "../ui/words.ts";

/** Where a person types. */
interface Here {
  readonly directory: string;
  readonly environment: Environment;
}

/** What a person types for this program so that it has the home that was named: without a word where it finds that by itself. */
export function called({ directory, environment, home }: Here & { readonly home: string | undefined }): string {
  if (home === undefined) return "bosun";
  const named = resolveHome(home, environment, directory);
  return named.ok ? `bosun${homeFlag({ directory, environment }, named.value.directory)}` : "bosun";
}

/** What names a home on a command line from here, with a blank before it; nothing where it is found. `shown` is how its path is written. */
export function homeFlag({ directory, environment }: Here, home: string, shown: string = home): string {
  const found = resolveHome(undefined, environment, directory);
  return found.ok && found.value.directory === home ? "" : ` --home ${shellWord(shown)}`;
}

// The program itself is always "Bosun" in a sentence.
const COMMAND = /(?<![\w./-])bosun (?=[a-z])/g;

/** A hint, whoever gave it, with its commands as they are typed here: those who know what went wrong do not know of homes. */
export function hintHere(bosun: string, hint: string): string {
  return hint.replace(COMMAND, () => `${bosun} `);
}

/** What has a hint, with the commands in it as they are typed here. */
export function toldHere<T extends Pick<Failure, "hint">>(bosun: string, told: T): T {
  return told.hint === undefined ? told : { ...told, hint: hintHere(bosun, told.hint) };
}
