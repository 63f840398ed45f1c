import { expect, it } from "vitest";
import { typed } from "./in-process.ts";
import { rig, tinyPlan, until } from "./rig.ts";
import { letGo } from "./waiting-task.ts";

const WORKER = `
import json, os, sys, time
request = json.loads(sys.stdin.readline())
answer = {"session_id": request["session_id"], "source": request["payload"]["role_id"], "target": "scheduler", "version": "1.0"}
def report(status, summary):
    print(json.dumps(answer | {"payload_type": "report", "payload": {"status": status, "summary": summary}}), flush=True)
for step in range(1, 301):
    report("progress", f"step {step} of 400")
while not os.path.exists("go"):
    time.sleep(0.02)
report("completed", "Built.")
`;

it("status and log show the latest progress of a ticket's turn", async () => {
  const here = rig();
  const crew = ["--worker", `python3 ${here.write("worker.py", WORKER)}`];
  const plan = here.write(
    "plan.json",
    tinyPlan([
      { task_id: "build", shell: "true" },
      { task_id: "publish", shell: "true", dependencies: ["build"] },
    ]),
  );
  const running = here.start(["run", "--plan", plan, ...crew]);
  const status = async () => (await typed(here, ["status"])).stdout;
  await until("the latest in the status", async () => (await status()).includes('  build: "step 300 of 400"\n'));
  expect(await status()).not.toContain("step 299");

  const log = async (...words: string[]) => (await typed(here, ["log", ...words])).stdout;
  const latest = 'build            progress of worker "step 300 of 400", the latest of 300\n';
  expect(await log("build")).toContain(latest);
  expect(await log("publish")).toMatch(/^.*publish.*pending.*\nnext {4}/);
  letGo(here);
  expect((await running.done).code).toBe(0);
  // The log shows it before the transition that followed.
  expect(await log("build")).toMatch(/step 300 of 400", the latest of 300\n\S+ build +in_progress -> awaiting_review/);
  expect(await log()).not.toContain("progress of");
  expect(await status()).not.toContain("step 300");
});
