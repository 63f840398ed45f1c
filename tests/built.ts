import { dirname, join } from "node:path";

/** A path in the bundled program that `build.ts` made. */
export function built(...path: string[]): string {
  const folder = process.env.BOSUN_BUILD;
  if (folder === undefined)
    throw new Error("BOSUN_BUILD is not set: run the tests with vitest, whose setup builds the program");
  return join(folder, ...path);
}

/** The environment variable of Node's compile cache, for tests that give a program its own environment. */
export function compiledOnce(): { readonly NODE_COMPILE_CACHE: string } {
  return { NODE_COMPILE_CACHE: built("compiled") };
}

/** A `PATH` with the bundled program as `bosun`, as if it were installed. */
export function pathWithBosun(): string {
  return [built("bin"), dirname(process.execPath), process.env.PATH].join(":");
}
