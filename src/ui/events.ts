import { safeJson } from "./display.ts";

/** The version of the `--json` events that SPEC.md defines. Changes that readers may ignore raise the minor number, all others the major. */
export const EVENTS_VERSION = "1.1";

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

export interface JsonEvent {
  readonly type: (typeof EVENT_TYPES)[number];
  readonly [field: string]: unknown;
}

export function eventLine(event: JsonEvent): string {
  return safeJson(event);
}
