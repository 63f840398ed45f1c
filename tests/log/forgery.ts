import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { seal } from "../../src/log/chain.ts";
import { recordName } from "../../src/log/reader.ts";
import { GENESIS, type LogRecord, type UnsealedRecord } from "../../src/protocol/record.ts";

/** A record that a test may change at will. */
export type Editable = { -readonly [K in Exclude<keyof UnsealedRecord, "record">]: UnsealedRecord[K] } & {
  record: Record<string, unknown>;
};

/** Writes a changed log with a valid chain, which only deciding it again can detect. Replaces the log in the folder. */
export function writeForged(
  folder: string,
  log: readonly LogRecord[],
  change: (records: Editable[]) => void,
): readonly Editable[] {
  const records = log.map(unsealed);
  change(records);
  const stale = new Set(readdirSync(folder).filter((name) => name.endsWith(".json")));
  const told = log.find(({ payload_type }) => payload_type === "final_report")?.payload["log"];
  let previous = GENESIS;
  for (const [index, record] of records.entries()) {
    // The report must name the record before it.
    if (told !== undefined && isDeepStrictEqual(record.payload?.["log"], told)) {
      record.payload = { ...record.payload, log: { records: index, head: previous } };
    }
    const { line, hash } = seal(record as unknown as UnsealedRecord, { sequence: index + 1, previous });
    previous = hash;
    // The forged type may be anything; the file name must be valid.
    const type = JSON.stringify(record.payload_type).replaceAll(/[^a-z_]/g, "");
    const name = recordName(index + 1, type.slice(0, 40));
    writeFileSync(join(folder, name), line);
    stale.delete(name);
  }
  for (const name of stale) rmSync(join(folder, name));
  return records;
}

/** Changes that replace any one value of a log by any other. */
export function forgeries(log: readonly LogRecord[]): fc.Arbitrary<(records: Editable[]) => void> {
  const places = log.flatMap((record, index) => valuesIn(unsealed(record)).map((place) => ({ index, ...place })));
  const instead = fc.oneof(
    fc.constantFrom(...places.map(({ value }) => value)),
    fc.constantFrom(null, "", "__proto__", 0, -1, 0.5, 1e300, [], [null], {}, { text: null }),
    fc.jsonValue(),
  );
  return fc
    .record({ place: fc.constantFrom(...places), instead })
    .filter(({ place, instead: other }) => other !== null || place.path.join() !== "record")
    .filter(({ place, instead: other }) => !isDeepStrictEqual(place.value, other))
    .map(({ place: { index, path }, instead: value }) => {
      const change = (records: Editable[]) => replace(records[index] as unknown as Values, path, value);
      return Object.assign(change, { toString: () => `record ${index + 1}, ${path.join()}: ${JSON.stringify(value)}` });
    });
}

function unsealed(record: LogRecord): Editable {
  const { integrity: _, ...rest } = structuredClone(record);
  return rest;
}

interface Values {
  [key: string]: unknown;
}

interface Place {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** Each value in a record, with its path. */
function valuesIn(value: unknown, path: readonly string[] = []): Place[] {
  const inner = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return [
    ...(path.length > 0 ? [{ path, value }] : []),
    ...inner.flatMap(([key, one]) => valuesIn(one, [...path, key])),
  ];
}

function replace(record: Values, path: readonly string[], value: unknown): void {
  const last = path.length - 1;
  const holder = path.slice(0, last).reduce<Values>((at, key) => at[key] as Values, record);
  holder[path[last] ?? ""] = value;
}
