// On a line of input opens a store and prints the outcome.
import { once } from "node:events";
import { openStore } from "../../../src/store/sqlite-store.ts";

process.stdout.write("ready\n");
await once(process.stdin, "data");
const opened = openStore(process.argv[2] ?? "");
process.stdout.write(`${opened.ok ? "opened" : opened.error.message}\n`);
if (opened.ok) opened.value.close();
process.stdin.destroy();
