import { join } from "node:path";

/** Where `build.ts` has put the bundled program. */
export function built(...path: string[]): string {
  const folder = process.env.BOSUN_BUILD;
  if (folder === undefined)
    throw new Error("BOSUN_BUILD is not set: run the tests through vitest, whose set-up builds the program");
  return join(folder, ...path);
}
