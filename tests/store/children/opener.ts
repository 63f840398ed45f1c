// On a line of input opens a store and prints the outcome. With a second argument no file may grow beyond so many KiB.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { openStore } from "../../../src/store/sqlite-store.ts";

const [home = "", most] = process.argv.slice(2);
if (most !== undefined) execFileSync("prlimit", [`--pid=${process.pid}`, `--fsize=${Number(most) * 1024}`]);
process.stdout.write("ready\n");
await once(process.stdin, "data");
const opened = openStore(home);
process.stdout.write(`${opened.ok ? "opened" : `${opened.error.message} ${opened.error.hint}`}\n`);
if (opened.ok) opened.value.close();
process.stdin.destroy();
