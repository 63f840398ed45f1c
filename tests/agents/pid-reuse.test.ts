import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

/** Runs a program as the first of a process namespace, in which it can set the next pid. */
function inNamespace(...command: readonly string[]) {
  const flags = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
  return spawnSync("unshare", [...flags, ...command], { encoding: "utf8" });
}

const CAN_SET_NEXT_PID = inNamespace("test", "-w", "/proc/sys/kernel/ns_last_pid").status === 0;

describe.runIf(CAN_SET_NEXT_PID)("when pids start over, a process", () => {
  let found: Record<string, unknown>;

  beforeAll(() => {
    const { stdout, stderr } = inNamespace(process.execPath, join(import.meta.dirname, "children/pid-reuse.ts"));
    if (stderr !== "") throw new Error(stderr);
    found = JSON.parse(stdout) as Record<string, unknown>;
  });

  test("is found in its group with a lower pid", () => {
    expect(found["isLower"]).toEqual([false, true]);
    expect(found["inGroupAtTheEnd"]).toEqual([true, true]);
  });

  test("is among the pids that can be younger", () => {
    expect(found["amongYoungerAtTheEnd"]).toEqual([true, true]);
    expect(found["amongYoungerInTheMiddle"]).toEqual(true);
    expect(found["strangersAmongYounger"]).toEqual([false, false]);
  });

  test("is found in its group after all pids were used once", () => {
    expect(found["inGroupAfterAllPids"]).toBe(true);
  });

  test("is found in its group after many pids, just after a table was read", () => {
    expect(found["inGroupAmongMany"]).toBe(true);
  });
});
