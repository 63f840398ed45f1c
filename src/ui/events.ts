import { safeJson } from "./display.ts";

/** The version of the events of `--json`, which SPEC.md defines. What a reader may ignore raises the second number, all else the first. */
export const EVENTS_VERSION = "1.0";

/** Their types. */
export const EVENT_TYPES = [
  "hello",
  "record",
  "waiting",
  "turn_started",
  "console",
  "turn_ended",
  "hold",
  "warning",
  "heartbeat",
  "error",
  "detached",
  "result",
] as const;

/** An event with its fields. */
export interface JsonEvent {
  readonly type: (typeof EVENT_TYPES)[number];
  readonly [field: string]: unknown;
}

/** An event as a line. */
export function eventLine(event: JsonEvent): string {
  return safeJson(event);
}
