import { chmodSync, renameSync } from "node:fs";
import { expect, it } from "vitest";
import { typed, typedJson } from "./in-process.ts";
import { rig, tinyPlan, until } from "./rig.ts";

const WORKER = `#!/bin/sh
IFS= read -r request
printf '{"session_id":"%s","source":"%s","target":"scheduler","payload_type":"report","version":"1.0","payload":{"status":"completed","summary":"Done."}}\\n' \\
  "$BOSUN_SESSION_ID" "$BOSUN_ROLE_ID"
`;

it("an outage is shown by run, log and status, survives a kill of the scheduler, and costs no attempt", async () => {
  const here = rig();
  const worker = here.write("bin/worker", WORKER);
  chmodSync(worker, 0o755);
  const roles = { roles: [{ role_id: "w", type: "worker", cli_command: [worker] }] };
  const task = { shell: "true", more: { max_attempts: 1, assigned_to: { role_id: "w" } } };
  // The check of the first task puts the program away.
  const away = { text: "moved", command: ["mv", worker, `${worker}.away`] };
  const tasks = [
    { ...task, task_id: "a", more: { ...task.more, acceptance_criteria: [away] } },
    { ...task, task_id: "b", dependencies: ["a"] },
  ];
  const plan = here.write("plan.json", tinyPlan(tasks));
  const running = here.start([
    ...["run", "--session", "mine", "--crew", "embedded", "--no-input", "--foreground"],
    ...["--roles", here.write("roles.json", JSON.stringify(roles)), "--plan", plan],
  ]);
  await until(
    () => `the outage to be shown: ${running.stdout()}${running.stderr()}`,
    () => /HELD: w is unavailable since \S+; next try \S+; .*resume mine --release w/.test(running.stdout()),
  );
  const status = await typed(here, ["status", "mine"]);
  expect(status.stdout).toMatch(/w is unavailable since \S+; next try \S+/);
  running.child.kill("SIGKILL");
  await running.done;

  // Still away: a resume tries at once, and the outage goes on.
  const second = here.start(["resume", "mine", "--no-input", "--foreground"]);
  await until("the second try", () => second.stdout().includes("HELD: w is unavailable since"));
  second.child.kill("SIGKILL");
  await second.done;
  const { holds } = await typedJson<{ holds: object[] }>(here, ["status", "mine", "--json"]);
  expect(holds).toMatchObject([{ role_id: "w", reason: "unavailable", tries: 2 }]);

  renameSync(`${worker}.away`, worker);
  const third = await typed(here, ["resume", "mine", "--no-input", "--foreground"]);
  expect([third.code, third.stdout]).toEqual([0, expect.stringContaining("NO LONGER HELD: w")]);
  expect((await typed(here, ["log", "mine", "b"])).stdout).toMatch(
    /HELD: w is unavailable since[^]*HELD: w is unavailable since[^]*NO LONGER HELD: w/,
  );
  const { tickets } = await typedJson<{ tickets: object[] }>(here, ["report", "mine", "--json"]);
  expect(tickets).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  expect((await typed(here, ["replay", "mine", "--verify"])).code).toBe(0);
});
