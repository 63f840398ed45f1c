import { fails, type Fallible } from "../../protocol/failure.ts";
import type { Ended } from "./bosun.ts";

/** A failure for a broken promise of Bosun's. */
export function broken(what: string): Fallible<never> {
  const hint = "This is a bug in Bosun. Please report it with the session's log folder.";
  return fails("verification_failed", what, { hint });
}

/** A failure for what keeps Bosun from working. */
export function unable(what: string, { complaint }: Ended, command: string): Fallible<never> {
  return fails("environment", `${what} ${complaint}`.trim(), { hint: `See why: ${command}` });
}
