import { appendFileSync, cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { LogRecord } from "../../src/protocol/record.ts";
import { onlySession, typed } from "./in-process.ts";
import { jsonLines, type Rig, rig, tinyPlan, until } from "./rig.ts";
import { endAfterwards } from "./strays.ts";
import { letGo, taskRuns, WAIT } from "./waiting-task.ts";

/** The numbers of the records that are listed. */
async function listed(here: Rig, ...args: readonly string[]): Promise<number[]> {
  const { code, stdout, stderr } = await typed(here, ["replay", ...args, "--json"]);
  expect([code, stdout === "" ? "" : stderr]).toEqual([0, ""]);
  return stdout === "" ? [] : jsonLines<LogRecord>(stdout).map(({ integrity }) => integrity.sequence);
}

/** A copy of a log whose records are a second apart. Its chain is not right any more. */
async function spaced(here: Rig): Promise<{ copy: string; at: (sequence: number) => Date; all: number[] }> {
  const plan = tinyPlan([{ task_id: "a", shell: "true" }]);
  await typed(here, ["run", "--plan", here.write("plan.json", plan), "--reporter", "silent"]);
  const copy = join(here.workspace, "copy");
  cpSync(join(here.home, "logs", await onlySession(here)), copy, { recursive: true });
  const at = (sequence: number) => new Date(new Date(2026, 0, 2, 20, 0, 0).getTime() + sequence * 1_000);
  const names = readdirSync(copy).filter((name) => name.endsWith(".json"));
  for (const [index, name] of names.entries()) {
    const file = join(copy, name);
    const text = readFileSync(file, "utf8").replace(
      /"received_at":"[^"]*"/,
      `"received_at":"${at(index + 1).toISOString()}"`,
    );
    appendFileSync(file, text, { flag: "w" });
  }
  return { copy, at, all: names.map((_, index) => index + 1) };
}

describe("bosun replay --from, --to", () => {
  it("take numbers, times of day, times with a zone, and times since the first record", async () => {
    const here = rig();
    const { copy, at, all } = await spaced(here);
    const [third, fifth] = [all.slice(2), all.slice(0, 5)];
    expect(await listed(here, copy)).toEqual(all);
    for (const from of ["3", "20:00:03", "+2s", at(3).toISOString()])
      expect(await listed(here, copy, "--from", from)).toEqual(third);
    for (const to of ["5", "20:00:05", "+4s", at(5).toISOString()])
      expect(await listed(here, copy, "--to", to)).toEqual(fifth);
    expect(await listed(here, copy, "--from", "20:00:03", "--to", "5")).toEqual([3, 4, 5]);
    expect(await listed(here, copy, "--from", "19:59")).toEqual(all);
    expect(await listed(here, copy, "--from", "20:30")).toEqual([]);
  });

  it("show a record that cannot be read with those around it", async () => {
    const here = rig();
    const { copy } = await spaced(here);
    appendFileSync(join(copy, readdirSync(copy).find((name) => name.startsWith("000004")) ?? ""), "}");
    const { stdout } = await typed(here, ["replay", copy, "--from", "20:00:03", "--to", "20:00:05"]);
    expect(stdout.match(/^ +\d+ /gm)?.map(Number)).toEqual([3, 4, 5]);
    expect((await typed(here, ["replay", copy, "--from", "20:00:05"])).stdout).not.toContain("cannot be read");
  });

  it("refuse what is neither, and options that contradict each other", async () => {
    const here = rig();
    const { copy } = await spaced(here);
    const wrong = [
      ["--from", "24:00"],
      ["--to", "tomorrow"],
      ["--at", "0"],
      ["--speed", "0"],
      ["--speed", "fast"],
      ["--play", "--json"],
      ["--at", "3", "--verify"],
      ["--step", "--follow"],
      ["--speed", "8", "--from", "3"],
      ["--play", "--list"],
      ["--verify", "--follow"],
      ["--follow"],
    ];
    for (const args of wrong) {
      const { code, stderr } = await typed(here, ["replay", copy, ...args]);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringMatching(/^Error: .*\n./)]);
    }
  });
});

describe("bosun replay --follow", () => {
  it("goes on with the records of a running session to its end, as lines and as JSON", async () => {
    const here = endAfterwards(rig());
    await here.run(["run", "--plan", here.write("plan.json", WAIT), "--session", "mine", "--detach"]);
    await taskRuns(here);
    const viewers = [
      ["-f"],
      ["--follow", "--json"],
      ["-f", "--json", "--type", "report"],
      ["-f", "--json", "--to", "4"],
    ];
    const running = viewers.map((args) => here.start(["replay", "mine", ...args]));
    await until("the records until now", () => running[0]?.stdout().includes("turn_request") === true);
    const short = await running[3]?.done;
    expect([short?.code, jsonLines(short?.stdout ?? "").length]).toEqual([0, 4]);
    letGo(here);
    const [text, json, reports] = await Promise.all(running.map(({ done }) => done));
    const all = jsonLines<LogRecord>(json?.stdout ?? "");
    expect(all.map(({ integrity }) => integrity.sequence)).toEqual(all.map((_, index) => index + 1));
    expect(all.at(-1)?.payload_type).toBe("session_closed");
    expect(text?.stdout).toContain("session_closed");
    expect(jsonLines<LogRecord>(reports?.stdout ?? "").map(({ payload_type }) => payload_type)).toContain("report");
    const later = await typed(here, ["replay", "mine", "--json"]);
    expect(json?.stdout).toBe(later.stdout);
    expect((await typed(here, ["replay", "mine", "--json", "-f"])).stdout).toBe(later.stdout);
  });
});
