import { readFileSync } from "node:fs";
import { type JsonObject, objectOf } from "../../lib/json.ts";
import { parseDocument } from "../../protocol/document/document.ts";
import { shippedConfig } from "../shipped.ts";
import type { Seat } from "./case.ts";

/** The turns of a seat by name: one for each kind of message that it gets. Every program can answer the first. */
export function turnsOf(seat: Seat): Readonly<Record<string, JsonObject>> {
  const file = shippedConfig("conformance.yaml");
  const document = parseDocument(file, readFileSync(file, "utf8"));
  if (!document.ok) throw new Error(`${file}: ${document.error.what}`);
  const { context: usual, [seat]: turns } = objectOf(document.value.value);
  const named = Object.entries(objectOf(turns)).map(([name, turn]) => {
    const { message, payload, context = usual, ...more } = objectOf(turn);
    return [name, { ...more, message: { payload_type: message, payload }, context }] as const;
  });
  return Object.fromEntries(named);
}
