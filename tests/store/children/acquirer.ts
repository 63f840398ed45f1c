// On a line of input acquires one session over five connections at once, prints the outcomes, and holds it until stdin ends.
import { once } from "node:events";
import { openStore } from "../../../src/store/sqlite-store.ts";
import { OWNER } from "../records.ts";
import { value } from "../../results.ts";

const stores = Array.from({ length: 5 }, () => value(openStore(process.argv[2] ?? "")));
process.stdout.write("ready\n");
await once(process.stdin, "data");
const results = await Promise.all(stores.map((store) => store.acquire("s1", { ...OWNER, pid: process.pid })));
process.stdout.write(`${results.map((result) => (result.ok ? "won" : result.error.code)).join(" ")}\n`);
await once(process.stdin, "end");
for (const store of stores) store.close();
