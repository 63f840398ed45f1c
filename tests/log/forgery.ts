import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as fc from "fast-check";
import { seal } from "../../src/log/chain.ts";
import { recordName } from "../../src/log/reader.ts";
import { GENESIS, type LogRecord, type UnsealedRecord } from "../../src/protocol/record.ts";

/** A record that a forger may do anything to. */
export type Editable = { -readonly [K in Exclude<keyof UnsealedRecord, "record">]: UnsealedRecord[K] } & {
  record: Record<string, unknown>;
};

/** Writes a log anew with one change and a chain without a fault: what only living it again can find. Another that is there is replaced. */
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
    // A forger who knows the format sees to it that the report names the record before it.
    if (told !== undefined && isDeepStrictEqual(record.payload?.["log"], told)) {
      record.payload = { ...record.payload, log: { records: index, head: previous } };
    }
    const { line, hash } = seal(record as unknown as UnsealedRecord, { sequence: index + 1, previous });
    previous = hash;
    // Whatever the type was forged into, a file can have that name.
    const type = JSON.stringify(record.payload_type).replaceAll(/[^a-z_]/g, "");
    const name = recordName(index + 1, type.slice(0, 40));
    writeFileSync(join(folder, name), line);
    stale.delete(name);
  }
  for (const name of stale) rmSync(join(folder, name));
  return records;
}

/** Changes that put anything at all in the place of any one value in a log. */
export function forgeries(log: readonly LogRecord[]): fc.Arbitrary<(records: Editable[]) => void> {
  const places = log.flatMap((record, index) => placesIn(unsealed(record)).map((place) => ({ index, ...place })));
  const instead = fc.oneof(
    fc.constantFrom(...places.map(({ value }) => value)),
    fc.constantFrom(null, "", "__proto__", 0, -1, 0.5, 1e300, [], [null], {}, { text: null }),
    fc.jsonValue(),
  );
  return fc
    .record({ place: fc.constantFrom(...places), instead })
    .filter(({ place, instead: other }) => other !== null || place.way.join() !== "record")
    .filter(({ place, instead: other }) => !isDeepStrictEqual(place.value, other))
    .map(({ place: { index, way }, instead: value }) => {
      const change = (records: Editable[]) => replace(records[index] as unknown as Values, way, value);
      return Object.assign(change, { toString: () => `record ${index + 1}, ${way.join()}: ${JSON.stringify(value)}` });
    });
}

function unsealed(record: LogRecord): Editable {
  const { integrity: _, ...rest } = structuredClone(record);
  return rest as unknown as Editable;
}

interface Values {
  [key: string]: unknown;
}

interface Place {
  readonly way: readonly string[];
  readonly value: unknown;
}

/** Each value in a record, with the way to it. */
function placesIn(value: unknown, way: readonly string[] = []): Place[] {
  const inner = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return [...(way.length > 0 ? [{ way, value }] : []), ...inner.flatMap(([key, one]) => placesIn(one, [...way, key]))];
}

function replace(record: Values, way: readonly string[], value: unknown): void {
  const last = way.length - 1;
  const holder = way.slice(0, last).reduce<Values>((at, key) => at[key] as Values, record);
  holder[way[last] ?? ""] = value;
}
