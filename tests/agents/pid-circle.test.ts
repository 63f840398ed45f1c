import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";

/** Runs a program as the first of a namespace of processes, in which it may say which pid is given next. */
function inNamespace(...command: readonly string[]) {
  const flags = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
  return spawnSync("unshare", [...flags, ...command], { encoding: "utf8" });
}

const MAY_SAY_WHICH_IS_NEXT = inNamespace("test", "-w", "/proc/sys/kernel/ns_last_pid").status === 0;

describe.runIf(MAY_SAY_WHICH_IS_NEXT)("where pids are given in a circle, a process", () => {
  let found: Record<string, unknown>;

  beforeAll(() => {
    const { stdout, stderr } = inNamespace(process.execPath, join(import.meta.dirname, "children/circle.ts"));
    if (stderr !== "") throw new Error(stderr);
    found = JSON.parse(stdout) as Record<string, unknown>;
  });

  test("is found in its group although its pid is a lower one", () => {
    expect(found["isLower"]).toEqual([false, true]);
    expect(found["inGroupAtTheEnd"]).toEqual([true, true]);
  });

  test("is among those that can be younger, the last one too, wherever the circle begins again", () => {
    expect(found["amongYoungerAtTheEnd"]).toEqual([true, true]);
    expect(found["amongYoungerInTheMiddle"]).toEqual(true);
    expect(found["strangersAmongYounger"]).toEqual([false, false]);
  });

  test("is found in its group although the circle has come to the same place again", () => {
    expect(found["inGroupAfterACircle"]).toBe(true);
  });

  test("is found in its group although many pids were given since, and all processes were looked at just before", () => {
    expect(found["inGroupAmongMany"]).toBe(true);
  });
});
