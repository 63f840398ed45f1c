// A person at another terminal: puts each line of its standard input, an inbox body, to the session and says when it is
// there. argv: home, session.
import { createInterface } from "node:readline";
import type { JsonObject } from "../../../src/lib/json.ts";
import { openStore } from "../../../src/store/sqlite-store.ts";
import { value } from "../../results.ts";

const [home = "", session_id = ""] = process.argv.slice(2);
const store = value(openStore(home));
for await (const line of createInterface({ input: process.stdin })) {
  const actor = { user: "bea", host: "elsewhere", via: "test" };
  const id = value(await store.inbox.put(session_id, JSON.parse(line) as JsonObject, actor));
  process.stdout.write(`${id}\n`);
}
store.close();
