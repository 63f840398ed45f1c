import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { typedJson } from "./in-process.ts";
import { rig, type Rig } from "./rig.ts";
import { endAfterwards, everyProcessEnds } from "./strays.ts";
import { letGo, sessionCloses, type Status, taskRuns, WAIT } from "./waiting-task.ts";

const NAMESPACE = ["--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];

/** Runs a command where the scheduler's process cannot be seen, as an agent in its sandbox or another container does. */
function elsewhere(here: Rig, ...words: readonly string[]) {
  return spawnSync("unshare", [...NAMESPACE, process.execPath, built("cli.js"), ...words], {
    cwd: here.workspace,
    env: { ...here.environment, BOSUN_HOME: here.home },
    encoding: "utf8",
  });
}

async function running(): Promise<{ here: Rig; session_id: string; owner: number }> {
  const here = endAfterwards(rig());
  const args = ["run", "--plan", here.write("plan.json", WAIT), "--no-input", "--detach"];
  expect((await here.run(args)).code).toBe(0);
  return { here, ...(await taskRuns(here)) };
}

describe.runIf(spawnSync("unshare", [...NAMESPACE, "true"]).status === 0)(
  "from another process namespace, a running session",
  () => {
    it("runs, in the process that it recorded", async () => {
      const { here, session_id, owner } = await running();
      const seen = JSON.parse(elsewhere(here, "status", session_id, "--json").stdout) as Status;
      expect(seen.owner?.pid).toBe(owner);
      expect(elsewhere(here, "wait", session_id, "--timeout", "1s").status).toBe(124);
      expect(elsewhere(here, "resume", session_id, "--take-over", "--no-input").status).not.toBe(0);
      letGo(here);
      await sessionCloses(here, session_id);
    });

    it("is paused, told and cancelled", async () => {
      const { here, session_id } = await running();
      expect(elsewhere(here, "pause", session_id).status).toBe(0);
      expect(elsewhere(here, "tell", "wait", "hurry").status).toBe(0);
      expect(elsewhere(here, "cancel", session_id, "--yes").status).toBe(0);
      await sessionCloses(here, session_id);
      await everyProcessEnds(here);
      expect(await typedJson<Status>(here, ["status", session_id, "--json"])).toMatchObject({ owner: null });
    });

    it("is stopped, and then does not run", async () => {
      const { here, session_id } = await running();
      expect(elsewhere(here, "stop", session_id).status).toBe(0);
      expect(await typedJson<Status>(here, ["status", session_id, "--json"])).toMatchObject({
        state: "stopped",
        owner: null,
      });
    });
  },
);
