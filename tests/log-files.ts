import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LogRecord } from "../src/protocol/record.ts";

/** The records in a log folder, in order, read without the product's code. */
export function recordsIn(folder: string): LogRecord[] {
  return readdirSync(folder)
    .filter((name) => /^\d{6,}-/.test(name))
    .toSorted()
    .map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as LogRecord);
}
