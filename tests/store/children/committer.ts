// Acquires a session and commits three records at a time, without end; prints the last sequence of each commit.
import { seal } from "../../../src/log/chain.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";
import { GENESIS, type SealedRecord } from "../../../src/protocol/record.ts";
import { OWNER, unsealed } from "../records.ts";
import { value } from "../../results.ts";

const store = value(openStore(process.argv[2] ?? ""));
const lease = value(await store.acquire("s1", { ...OWNER, pid: process.pid }));
let { last_sequence: sequence, head } = value(store.session("s1"));
if (sequence === 0) head = GENESIS;
for (;;) {
  const expected = sequence;
  const records: SealedRecord[] = [];
  for (let count = 0; count < 3; count++) {
    sequence += 1;
    const record = seal(unsealed(sequence), { sequence, previous: head });
    head = record.hash;
    records.push(record);
  }
  const changes = [{ put: "engine", id: "counter", value: sequence }];
  value(await store.commit(lease, { expected, records, changes, session: { published: expected } }));
  process.stdout.write(`${sequence}\n`);
}
