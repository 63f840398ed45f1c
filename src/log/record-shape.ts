import { isJsonObject, type JsonObject } from "../lib/json.ts";
import type { LogRecord } from "../protocol/record.ts";

const TEXTS = ["session_id", "timestamp", "source", "target", "payload_type", "version"] as const;

/** The record in a line; null for what is not JSON, or without what every record has. */
export function parseRecord(line: string): LogRecord | null {
  try {
    const value: unknown = JSON.parse(line);
    return isLogRecord(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Whether a value has what every record has, so that it can be read as one. Files may hold anything, and a chain can be made anew around
 * it; what a payload must be is for the rules that read it to say.
 */
function isLogRecord(value: unknown): value is LogRecord {
  if (!isJsonObject(value) || !TEXTS.every((key) => typeof value[key] === "string")) return false;
  const { payload, record, integrity } = value;
  if (!isJsonObject(payload) || !isJsonObject(record) || !isJsonObject(integrity)) return false;
  const { sequence, previous, hash } = integrity;
  if (typeof sequence !== "number" || typeof previous !== "string" || typeof hash !== "string") return false;
  return isMeta(record);
}

function isMeta({ kind, received_at, disposition, ticket_id, turn_id, effects }: JsonObject): boolean {
  if (typeof kind !== "string" || typeof disposition !== "string") return false;
  if (typeof received_at !== "string" || Number.isNaN(Date.parse(received_at))) return false;
  if (![ticket_id, turn_id].every((id) => id === undefined || typeof id === "string")) return false;
  return effects === undefined || (Array.isArray(effects) && effects.every(isEffect));
}

function isEffect(value: unknown): boolean {
  if (!isJsonObject(value) || typeof value.ticket_id !== "string" || typeof value.to !== "string") return false;
  return value.from === null || typeof value.from === "string";
}
