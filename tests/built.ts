import { dirname, join } from "node:path";

/** Where `build.ts` has put the bundled program. */
export function built(...path: string[]): string {
  const folder = process.env.BOSUN_BUILD;
  if (folder === undefined)
    throw new Error("BOSUN_BUILD is not set: run the tests through vitest, whose set-up builds the program");
  return join(folder, ...path);
}

/** Where Node keeps what it has compiled, for tests that give a program an environment of their own. */
export function compiledOnce(): { readonly NODE_COMPILE_CACHE: string } {
  return { NODE_COMPILE_CACHE: built("compiled") };
}

/** A `PATH` on which the bundled program is `bosun`, as where it is installed. */
export function pathWithBosun(): string {
  return [built("bin"), dirname(process.execPath), process.env.PATH].join(":");
}
