import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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
def wait(name):
    while not os.path.exists(name):
        time.sleep(0.02)
print("at the foundation", file=sys.stderr, flush=True)
wait("followed")
print("at the roof", file=sys.stderr, flush=True)
wait("go")
report("completed", "Built.")
`;

it("status and log show the latest progress of a ticket's turn, and a followed log what it prints", async () => {
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
  const follower = here.start(["log", "build", "--follow"]);
  await until("what was printed before", () => /(?: {4}|worker \| )at the foundation\n/.test(follower.stdout()));
  writeFileSync(join(here.workspace, "followed"), "");
  await until("what is printed now", () => follower.stdout().includes("worker | at the roof\n"));
  letGo(here);
  expect((await running.done).code).toBe(0);
  expect((await follower.done).code).toBe(0);
  // The log shows it before the transition that followed.
  expect(await log("build")).toMatch(/step 300 of 400", the latest of 300\n\S+ build +in_progress -> awaiting_review/);
  expect(await log()).not.toContain("progress of");
  expect(await status()).not.toContain("step 300");
});

/** Says which attempt it is, waits for that attempt's file, and fails the first time. */
const TWICE = `
echo begun >> attempts; n=$(wc -l < attempts | tr -d ' '); echo "attempt $n begins"
until [ -e go$n ]; do sleep 0.05; done
echo "attempt $n ends"; [ $n = 2 ]`;

it("a followed log goes on with what the next attempt's agent prints", async () => {
  const here = rig();
  const config = here.write("config.json", JSON.stringify({ retry_backoff_ms: 1 }));
  const plan = here.write("plan.json", tinyPlan([{ task_id: "build", shell: TWICE }]));
  const running = here.start(["run", "--plan", plan, "--config", config]);
  await until("the first attempt", () => existsSync(join(here.workspace, "attempts")));
  const follower = here.start(["log", "build", "-f"]);
  for (const attempt of ["1", "2"]) {
    await until(`attempt ${attempt}`, () => follower.stdout().includes(`attempt ${attempt} begins\n`));
    expect(follower.stdout()).not.toContain(`attempt ${attempt} ends`);
    writeFileSync(join(here.workspace, `go${attempt}`), "");
  }
  expect((await running.done).code).toBe(0);
  const { code, stdout } = await follower.done;
  expect(code).toBe(0);
  const told = stdout
    .split("\n")
    .flatMap((line) => /\| (attempt \d \w+)$|-> (blocked|done)\b/.exec(line)?.slice(1) ?? []);
  // The first line was there before the log, or not.
  const later = told.filter((words) => words !== undefined && words !== "attempt 1 begins");
  expect(later).toEqual(["attempt 1 ends", "blocked", "attempt 2 begins", "attempt 2 ends", "done"]);
});
