import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/lib/json.ts";
import { crew, report, task } from "./crew.ts";
import { newRig } from "./rig.ts";
import { begin, DONE, logOf, run } from "./sessions.ts";

describe("a plan with its tasks in a file", () => {
  const planned = (bytes: string | Buffer, told: JsonObject = {}) =>
    crew([], {
      requirement: ({ payload }) => {
        mkdirSync(payload.artifacts_dir, { recursive: true });
        writeFileSync(join(payload.artifacts_dir, "tasks.json"), bytes);
        return {
          payload_type: "plan",
          payload: { summary: "Big", tasks_ref: { label: "tasks", uri: "tasks.json", ...told } },
        };
      },
      instruction: () => report(),
    });

  it.each(["list", "object"])("is recorded with the tasks of a %s", async (shape) => {
    const rig = newRig();
    const tasks = Array.from({ length: 50 }, (_, n) => task(`t${n}`));
    const session = await begin(rig, { agentFor: planned(JSON.stringify(shape === "list" ? tasks : { tasks })) });
    expect(await run(session)).toEqual(DONE);
    const [recorded] = logOf(rig, session.session_id, "plan");
    expect(recorded?.payload).toMatchObject({ summary: "Big", tasks });
    expect(recorded?.payload).not.toHaveProperty("tasks_ref");
  });

  it("uses its own tasks if it has both", async () => {
    const rig = newRig();
    const both = { tasks: [task("own")], tasks_ref: { label: "tasks", uri: "no-such-file.json" } };
    const agentFor = crew([], {
      requirement: () => ({ payload_type: "plan", payload: both }),
      instruction: () => report(),
    });
    const session = await begin(rig, { agentFor });
    expect(await run(session)).toEqual(DONE);
    const [recorded] = logOf(rig, session.session_id, "plan");
    expect(recorded?.payload).toMatchObject(both);
  });

  it("is refused if its record would be too long", async () => {
    const rig = newRig();
    const [first] = [task("a", [], { metadata: { numbers: 0 } })];
    const agentFor = planned(
      JSON.stringify([first]).replace('"numbers":0', `"numbers":[${"1e20,".repeat(3_100_000)}1]`),
    );
    const session = await begin(rig, { agentFor, config: { max_retries: 0 } });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "manager_failed" });
    const [failed] = logOf(rig, session.session_id, "turn_failed");
    expect(failed?.payload["message"]).toMatch(/67108864 bytes of a record/);
  }, 120_000);

  it("is refused before it is parsed if the file has too many members", async () => {
    const rig = newRig();
    const agentFor = planned(`[${"1,".repeat(4_000_000)}`);
    const session = await begin(rig, { agentFor, config: { max_retries: 0 } });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "manager_failed" });
    const [failed] = logOf(rig, session.session_id, "turn_failed");
    expect(failed?.payload["message"]).toMatch(/4000001 keys.*\[members\]/);
  });

  it("is requested again with the reason if the file is invalid", async () => {
    const rig = newRig();
    const told: unknown[] = [];
    const agentFor = crew([], {
      requirement: ({ payload }) => {
        told.push(payload.context.refused);
        mkdirSync(payload.artifacts_dir, { recursive: true });
        writeFileSync(join(payload.artifacts_dir, "tasks.json"), JSON.stringify([told.length === 1 ? {} : task("a")]));
        return { payload_type: "plan", payload: { tasks_ref: { label: "tasks", uri: "tasks.json" } } };
      },
      instruction: () => report(),
    });
    expect(await run(await begin(rig, { agentFor }))).toEqual(DONE);
    expect(told).toEqual([
      undefined,
      [
        {
          payload_type: "plan",
          code: "validation_failed",
          pointer: "",
          message: 'The artifact "tasks.json" cannot be kept: /tasks/0/task_id is missing. [required].',
        },
      ],
    ]);
  });

  it("is refused with a wrong digest or size", async () => {
    for (const told of [{ digest: `sha256:${"0".repeat(64)}` }, { size_bytes: 1 }]) {
      const rig = newRig();
      const agentFor = planned(JSON.stringify([task("a")]), told);
      const session = await begin(rig, { agentFor, config: { max_retries: 0 } });
      expect(await run(session)).toMatchObject({ kind: "stopped", reason: "manager_failed" });
    }
  });

  it.each<readonly [string, string, string]>([
    ["is empty", "", "The file is not JSON: Unexpected end of JSON input. [json]"],
    [
      "holds more than its one value",
      '[{"task_id":"a","description":"x"}],"y":1',
      "The file is not JSON: Unexpected non-whitespace character after JSON at position 35 (line 1 column 36). [json]",
    ],
    [
      "has half a character",
      '[{"task_id":"a","description":"\\ud800"}]',
      '"/0/description" holds half a surrogate pair. [well_formed]',
    ],
    [
      "has a key twice",
      '[{"task_id":"a","task_id":"b"}]',
      'The key "task_id" is a duplicate in its object. [duplicate_key]',
    ],
  ])("is refused with the place of the fault if the file %s", async (_what, text, why) => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: planned(text), config: { max_retries: 0 } });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "manager_failed" });
    const [failed] = logOf(rig, session.session_id, "turn_failed");
    expect(failed?.payload["message"]).toBe(`The artifact "tasks.json" cannot be kept: ${why}.`);
  });

  it("may have a file of 64 MiB", async () => {
    const rig = newRig();
    const tasks = JSON.stringify([task("a")]);
    const agentFor = planned(tasks.padEnd(64 * 1024 * 1024));
    expect(await run(await begin(rig, { agentFor }))).toEqual(DONE);
  });

  it.each<readonly [string, string | Buffer]>([
    ["is not JSON", "{"],
    ["is not UTF-8", Buffer.from([0xff, 0xfe])],
    ["holds something else", "7"],
    ["holds more than its one value", '[],"tasks":[{"task_id":"a","description":"x"}]'],
    ["has a task without an id", '[{"description":"x"}]'],
    ["holds half a character", '[{"task_id":"a","description":"\\ud800"}]'],
    ["reaches for a prototype", '[{"task_id":"a","description":"x","__proto__":{"y":1}}]'],
    [
      "nests without end",
      `[{"task_id":"a","description":"x","metadata":{"x":${"[".repeat(50_000)}${"]".repeat(50_000)}}}]`,
    ],
  ])("fails its turn if the file %s", async (_what, bytes) => {
    const rig = newRig();
    const session = await begin(rig, { agentFor: planned(bytes), config: { max_retries: 0 } });
    expect(await run(session)).toMatchObject({ kind: "stopped", reason: "manager_failed" });
    expect(logOf(rig, session.session_id, "turn_failed")).toHaveLength(1);
  });
});
