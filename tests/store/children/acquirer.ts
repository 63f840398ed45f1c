// Tries to take one session over five connections at once when told to, says how often it got it, and holds it until told to end.
import { once } from "node:events";
import { openStore } from "../../../src/store/sqlite-store.ts";
import { OWNER } from "../rig.ts";
import { value } from "../../results.ts";

const stores = Array.from({ length: 5 }, () => value(openStore(process.argv[2] ?? "")));
process.stdout.write("ready\n");
await once(process.stdin, "data");
const results = await Promise.all(stores.map((store) => store.acquire("s1", { ...OWNER, pid: process.pid })));
process.stdout.write(`${results.map((result) => (result.ok ? "won" : result.error.code)).join(" ")}\n`);
await once(process.stdin, "end");
for (const store of stores) store.close();
