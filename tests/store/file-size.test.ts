import { execFileSync } from "node:child_process";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { cleanUp, temporaryDirectory } from "./rig.ts";

afterEach(cleanUp);

const LIMIT_BYTES = 1_048_576;

/** Which file has come to the end of what a process may write, of databases whose files have these sizes. */
function limited(...databases: readonly Readonly<Record<string, number>>[]): unknown {
  const home = temporaryDirectory();
  const paths = databases.map((sizes, index) => {
    const path = join(home, String(index));
    for (const [suffix, size] of Object.entries(sizes)) {
      writeFileSync(`${path}${suffix}`, "");
      truncateSync(`${path}${suffix}`, size);
    }
    return path;
  });
  const script = join(import.meta.dirname, "children/limited.ts");
  const blocks = String(LIMIT_BYTES / 512);
  const said = execFileSync("sh", ["-c", 'ulimit -f "$0" && exec "$@"', blocks, process.execPath, script, ...paths]);
  return (JSON.parse(said.toString()) as (string | null)[]).map((path) => path?.slice(home.length) ?? null);
}

test.runIf(process.platform === "linux")(
  "whichever file of a database cannot grow is named, and none while there is room",
  () => {
    const most = LIMIT_BYTES - 4_096;
    const some = LIMIT_BYTES / 2;
    expect(
      limited(
        {},
        { "": some, "-wal": some, "-shm": some },
        { "": most, "-wal": some },
        { "": some, "-wal": most },
        { "": some, "-wal": some, "-shm": most },
      ),
    ).toEqual([null, null, "/2", "/3-wal", "/4-shm"]);
  },
);
