// Reads one session until a line of input; prints how often, and what went wrong.
import { openReader } from "../../../src/store/sqlite-store.ts";
import { value } from "../../results.ts";

const home = process.argv[2] ?? "";
const enough = new AbortController();
process.stdin.once("data", () => enough.abort());
let reads = 0;
process.stdout.write("ready\n");
const errors: string[] = [];
while (!enough.signal.aborted) {
  try {
    const reader = value(openReader(home));
    for (let each = 0; each < 20; each++) {
      const { last_sequence } = value(reader.session("s1"));
      if (last_sequence > 0 && reader.record("s1", last_sequence) === undefined)
        errors.push(`no record ${last_sequence}`);
      reader.version();
      reader.inbox.pending("s1");
      if (reader.holder("s1") === undefined) errors.push("no holder");
      reads += 1;
    }
    reader.close();
  } catch (error) {
    errors.push(String(error));
  }
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(`${JSON.stringify({ reads, errors: errors.slice(0, 5) })}\n`);
process.stdin.destroy();
