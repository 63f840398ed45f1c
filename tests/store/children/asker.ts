// Holds the shared lock of `isLocked` until a moment after a line of input.
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import SqliteDatabase from "better-sqlite3";

const lock = new SqliteDatabase(process.argv[2], { readonly: true });
lock.exec("BEGIN; SELECT * FROM sqlite_schema");
process.stdout.write("asking\n");
await once(process.stdin, "data");
await delay(150);
lock.close();
process.stdin.destroy();
