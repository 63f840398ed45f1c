import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";

it("takes at most 640 bytes of memory for a planned ticket", () => {
  const script = join(import.meta.dirname, "children/planned-memory.ts");
  const measured = spawnSync(process.execPath, ["--expose-gc", script], { encoding: "utf8" });
  expect(measured.stderr).toBe("");
  // 618 with Node 24. A separate seat takes 32 more, a separate list of dependencies 64, a whole digest 80.
  expect(Number(measured.stdout)).toBeGreaterThan(0);
  expect(Number(measured.stdout)).toBeLessThan(640);
});
