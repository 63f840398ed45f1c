import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { jsonLines, rig, tinyPlan } from "./rig.ts";

it("a worker is told no criterion that is held out, nor what it printed, only that one failed", async () => {
  const here = rig();
  const seen = join(here.home, "..", "seen");
  const report = { timestamp: "2026-01-02T03:04:05Z", target: "scheduler", payload_type: "report", version: "1.0" };
  const rest = JSON.stringify({ ...report, payload: { status: "completed", summary: "Done." } }).slice(1);
  const worker = here.write(
    "worker.sh",
    [
      "read -r request",
      `printf '%s\\n' "$request" >> ${seen}`,
      'test "$BOSUN_ATTEMPT" = 1 || touch mended',
      `printf '{"session_id":"%s","source":"%s",%s\\n' "$BOSUN_SESSION_ID" "$BOSUN_ROLE_ID" '${rest}'`,
    ].join("\n"),
  );
  const acceptance_criteria = [
    { text: "told", command: ["true"] },
    { text: "withheld", command: ["sh", "-c", "echo printed; test -e mended"], held_out: true },
  ];
  const plan = here.write("plan.json", tinyPlan([{ task_id: "a", shell: "true", more: { acceptance_criteria } }]));
  const ran = await typed(here, ["run", "--plan", plan, "--worker", `sh ${worker}`, "--no-input", "--yes"]);
  expect([ran.code, ran.stderr]).toEqual([0, expect.any(String)]);
  const requests = jsonLines<{ payload: { context: object } }>(readFileSync(seen, "utf8"));
  expect(requests).toHaveLength(2);
  for (const request of requests) {
    expect(JSON.stringify(request)).toContain('"told"');
    expect(JSON.stringify(request)).not.toMatch(/withheld|printed|mended/);
    expect(request.payload.context).not.toHaveProperty("plan_file");
  }
  expect(JSON.stringify(requests[1])).toContain("a criterion that workers are not told");
});
