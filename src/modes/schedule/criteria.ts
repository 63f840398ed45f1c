import type { Place } from "./state.ts";

/** Where the criteria with a command stand, in the record `sequence` at `pointer`. */
export function executables(criteria: readonly unknown[] | undefined, sequence: number, pointer: string): Place[] {
  return (criteria ?? []).flatMap((criterion, index): Place[] =>
    isExecutable(criterion) ? [[sequence, `${pointer}/${index}`]] : [],
  );
}

/** Whether the scheduler can run a criterion by itself. */
function isExecutable(criterion: unknown): boolean {
  return typeof criterion === "object" && criterion !== null && "command" in criterion;
}
