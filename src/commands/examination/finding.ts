import type { Failure } from "../../protocol/failure.ts";

/** One check. `missing`: needed, must be fixed first; `poor`: works, with less; `off`: not available and not needed. */
export interface Finding {
  readonly name: string;
  readonly state: "ok" | "poor" | "missing" | "off";
  readonly what: string;
  readonly hint?: string | undefined;
}

export function because({ message, hint }: Failure, name: string, state: Finding["state"]): Finding {
  return { name, state, what: message, hint };
}
