import { type Failure, failure, type FailureCode } from "../../protocol/failure.ts";

/**
 * One check. `missing`: needed, must be fixed first; `poor`: works, with less; `off`: not available and not needed. `doctor` shows them all, a run is
 * refused for the first that is missing.
 */
export interface Finding {
  readonly name: string;
  readonly state: "ok" | "poor" | "missing" | "off";
  readonly what: string;
  readonly hint?: string | undefined;
  /** Of the error with which a run is refused. */
  readonly code?: FailureCode;
}

export function because(name: string, { code, message, hint }: Failure): Finding {
  return { name, state: "missing", what: message, hint, code };
}

export function isMissing({ state }: Finding): boolean {
  return state === "missing";
}

/** Why a run cannot begin; undefined if nothing is missing. */
export function refusalFor(findings: readonly Finding[]): Failure | undefined {
  const first = findings.find(isMissing);
  return first && failure(first.code ?? "environment", first.what, { hint: first.hint });
}
