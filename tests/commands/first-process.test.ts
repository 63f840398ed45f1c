import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { type Status, taskRuns, WAIT } from "./waiting-task.ts";

const NAMESPACE = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
const CAN = spawnSync("unshare", [...NAMESPACE, "true"]).status === 0;

/** Both roles run without a sandbox, as in a container that allows none. */
const ROLES = JSON.stringify({
  roles: [
    { role_id: "playbook", type: "manager", sandbox: "none", cli_command: ["${node}", "${crew.playbook}"] },
    { role_id: "shell", type: "worker", sandbox: "none", cli_command: ["${node}", "${crew.shell}"] },
  ],
});

/** Starts the program as the first process of a namespace, as a container does. */
function asFirst(here: Rig, plan: string) {
  const args = ["run", "--plan", here.write("plan.json", plan), "--roles", here.write("roles.json", ROLES)];
  const more = ["--no-input", "--foreground"];
  return spawn("unshare", [...NAMESPACE, process.execPath, built("bin.js"), ...args, ...more], {
    cwd: here.workspace,
    env: { ...here.environment, BOSUN_HOME: here.home },
    stdio: "ignore",
  });
}

describe.runIf(CAN)("as the first process of a container", () => {
  it("leaves no zombies of what its agents leave behind", async () => {
    const here = endAfterwards(rig());
    const zombies = 'grep -qs "^State:.*zombie" /proc/[0-9]*/status';
    const plan = tinyPlan([
      { task_id: "leave", shell: "(setsid sleep 0.1 &); sleep 0.1 & true" },
      {
        task_id: "look",
        dependencies: ["leave"],
        shell: `sleep 0.3; for i in 1 2 3 4 5 6 7 8 9; do ${zombies} || exit 0; sleep 0.3; done; exit 1`,
      },
    ]);
    expect(await once(asFirst(here, plan), "exit")).toEqual([0, null]);
  });

  it("takes the signals that a container is stopped with", async () => {
    const here = endAfterwards(rig());
    const outside = asFirst(here, WAIT);
    const { session_id } = await taskRuns(here);
    const [first = ""] = readFileSync(`/proc/${outside.pid}/task/${outside.pid}/children`, "utf8").split(" ");
    process.kill(Number(first), "SIGTERM");
    expect(await once(outside, "exit")).toEqual([143, null]);
    expect(await typedJson<Status>(here, ["status", session_id, "--json"])).toMatchObject({
      state: "stopped",
      owner: null,
    });
  });
});
