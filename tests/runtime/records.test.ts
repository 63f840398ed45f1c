import { expect, it } from "vitest";
import type { Recorded } from "../../src/kernel/references.ts";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import { SessionRecords } from "../../src/runtime/records.ts";

const recorded = (n: number) => ({ payload_type: "report", payload: { n }, record: {} }) as unknown as Recorded;

/** A store that has the records from 1 to `last`, and how often it was asked. */
function stored(last: number) {
  let reads = 0;
  const read = (sequence: number) => {
    if (sequence > last) throw new Error(`record ${sequence} is not stored`);
    reads += 1;
    return { record: recorded(sequence), bytes: 1_000 };
  };
  const records = new SessionRecords(read, "");
  const lookAtAll = () => {
    for (let sequence = 1; sequence <= last; sequence += 1)
      expect(records.record(sequence).payload).toEqual({ n: sequence });
  };
  return { records, lookAtAll, reads: () => reads };
}

it("keeps records in memory until they are stored", () => {
  const { records, lookAtAll } = stored(20_000);
  records.add(20_001, recorded(20_001) as unknown as UnsealedRecord, "line");
  records.add(20_002, recorded(20_002) as unknown as UnsealedRecord, "line");
  lookAtAll();
  expect([records.record(20_001).payload, records.bytes(20_001)]).toEqual([{ n: 20_001 }, 4]);
  records.stored(20_001);
  lookAtAll();
  expect(records.record(20_002).payload).toEqual({ n: 20_002 });
  expect(() => records.record(20_001)).toThrow("record 20001 is not stored");
});

it("reads few records once and drops them where there are many", () => {
  const few = stored(4_000);
  few.lookAtAll();
  few.lookAtAll();
  expect(few.reads()).toBe(4_000);
  const many = stored(20_000);
  many.lookAtAll();
  many.lookAtAll();
  expect(many.reads()).toBe(40_000);
});
