// Looks at one session in every way until told to end, and says how often it looked and what went wrong.
import { openReader } from "../../../src/store/sqlite-store.ts";
import { value } from "../../results.ts";

const home = process.argv[2] ?? "";
const enough = new AbortController();
process.stdin.once("data", () => enough.abort());
let looks = 0;
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
      if (reader.holder("s1") === undefined) errors.push("nobody holds it");
      looks += 1;
    }
    reader.close();
  } catch (error) {
    errors.push(String(error));
  }
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(`${JSON.stringify({ looks, errors: errors.slice(0, 5) })}\n`);
process.stdin.destroy();
