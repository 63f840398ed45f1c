import { createHash } from "node:crypto";
import { isJsonObject } from "../../lib/json.ts";
import type { ChatRequest } from "../provider.ts";

/** The same for requests that ask the same of the same provider. */
export function requestKey(adapterId: string, request: ChatRequest): string {
  // Not canonical JSON, which has no form for the lone surrogates that models write.
  const text = JSON.stringify([adapterId, { ...request, signal: undefined }], (_key, value: unknown) =>
    isJsonObject(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : value,
  );
  return createHash("sha256").update(text).digest("hex");
}
