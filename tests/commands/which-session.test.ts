import { mkdirSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/sqlite-store.ts";
import type { Lease } from "../../src/store/store.ts";
import { value } from "../results.ts";
import { typed, typedIn, typedJson } from "./in-process.ts";
import { type Rig, rig, tinyPlan } from "./rig.ts";
import type { Status } from "./waiting-task.ts";

/** Makes this process the owner of sessions, until the returned function is called. */
async function held(here: Rig, ...sessions: readonly string[]): Promise<() => Promise<void>> {
  const store = value(openStore(here.home));
  onTestFinished(() => store.close());
  const owner = { pid: process.pid, host: hostname(), started_at: "2026-01-01T00:00:00Z" };
  const leases: Lease[] = [];
  for (const session_id of sessions) leases.push(value(await store.acquire(session_id, owner)));
  return async () => {
    for (const lease of leases) await store.release(lease);
  };
}

/** A task whose work needs a person's review. */
const REVIEWED = tinyPlan([{ task_id: "write", shell: "true", more: { review: "user" } }]);

const CHANGING = [
  ["cancel"],
  ["cancel", "write"],
  ["stop"],
  ["pause"],
  ["answer"],
  ["answer", "Eve"],
  ["review", "--approve"],
  ["review", "write", "--changes", "More."],
  ["tell", "Hurry."],
  ["tell", "write", "Hurry."],
  ["retry", "write"],
  ["plan", "--approve"],
  ["plan", "--revise", "Shorter."],
];

describe("a command without a session while several run", () => {
  it("refuses to change anything and names them, but shows the newest", async () => {
    const here = rig();
    const plan = here.write("plan.json", REVIEWED);
    // A stopped session whose id begins like the ticket changes nothing.
    for (const name of ["write-it", "older", "newer"])
      expect((await typed(here, ["run", "--plan", plan, "--session", name])).code).toBe(4);
    const release = await held(here, "older", "newer");
    const before = await typedJson<Status[]>(here, ["status", "--all", "--json"]);
    for (const words of CHANGING) {
      const { code, stdout, stderr } = await typed(here, words);
      expect([words, code, stdout, stderr]).toEqual([words, 2, "", expect.stringContaining("newer, older")]);
    }
    for (const words of [["log"], ["plan"], ["review"], ["attach", "--no-input"], ["replay"]]) {
      if (words[0] === "attach") await release();
      expect(`${words.join(" ")}\n${(await typed(here, words)).stdout}`).toContain("newer");
    }
    expect(await typedJson<Status[]>(here, ["status", "--all", "--json"])).toMatchObject(
      before.map(({ state, outcome }) => ({ state, outcome })),
    );
  });

  it("changes the session named by a prefix of its id, unless the prefix is ambiguous", async () => {
    const here = rig();
    const plan = here.write("plan.json", REVIEWED);
    for (const name of ["older", "newer", "third", "mine-1", "mine-2"])
      expect((await typed(here, ["run", "--plan", plan, "--session", name])).code).toBe(4);
    await held(here, "newer", "third");
    const many = await typed(here, ["status", "mine"]);
    expect([many.code, many.stderr]).toEqual([2, expect.stringContaining("mine-1, mine-2")]);
    expect((await typed(here, ["cancel", "old"])).stdout).toContain("older is cancelled");
  });
});

describe("a ticket that only an older session has", () => {
  const older = tinyPlan([{ task_id: "build", shell: "true" }]);
  const newer = tinyPlan([{ task_id: "docs", shell: "true" }]);

  it.each([["retry"], ["log"], ["review"], ["tell", "Hurry."], ["cancel"]])(
    "is refused by %s with that session, not with one of another home",
    async (command, ...more) => {
      const here = rig();
      const at = (name: string, ...args: string[]) => {
        mkdirSync(join(here.workspace, name), { recursive: true });
        return typedIn(join(here.workspace, name), here.environment, args);
      };
      const run = async (name: string, plan: string, session: string) =>
        expect((await at(name, "run", "--plan", here.write("plan.json", plan), "--session", session)).code).toBe(0);
      await run("there", older, "elsewhere");
      await run("here", older, "older");
      await run("here", newer, "newer");
      const { code, stdout, stderr } = await at("here", command, "build", ...more);
      expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(`bosun ${command} older build`)]);
      expect(stderr).not.toContain("elsewhere");
    },
  );

  it("is named with the open session that asks, when its question is answered", async () => {
    const here = rig();
    const asking = (session: string, question: string) => {
      const plan = tinyPlan([{ task_id: "a", shell: "true" }], { questions: [{ question_id: question, text: "?" }] });
      return typed(here, ["run", "--plan", here.write("ask.json", plan), "--session", session]);
    };
    for (const session of ["older", "newer"]) expect((await asking(session, `${session}-q`)).code).toBe(4);
    const { code, stderr } = await typed(here, ["answer", "older-q", "Eve"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("bosun answer older older-q")]);
    expect((await typed(here, ["answer", "older", "older-q", "Eve"])).stdout).toContain("Kept for older");
  });
});

describe("a word that names a session and a ticket of another", () => {
  async function both(): Promise<Rig> {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "tests", shell: "true", more: { review: "user" } }]));
    const other = here.write("other.json", tinyPlan([{ task_id: "only", shell: "true", more: { review: "user" } }]));
    expect((await typed(here, ["run", "--plan", other, "--session", "tests"])).code).toBe(4);
    expect((await typed(here, ["run", "--plan", plan, "--session", "nightly"])).code).toBe(4);
    return here;
  }

  it("is refused by commands that change something, with a command for each meaning", async () => {
    const here = await both();
    const release = await held(here, "tests", "nightly");
    for (const [command = "", ...more] of [["cancel"], ["review", "--approve"]]) {
      const { code, stderr } = await typed(here, [command, "tests", ...more]);
      expect(code).toBe(2);
      expect(stderr).toContain(`bosun ${command} nightly tests`);
      expect(stderr).toContain(`bosun ${command} --session tests`);
    }
    await release();
    expect((await typed(here, ["tell", "tests", "Hurry."])).code).toBe(2);
    expect((await typed(here, ["tell", "nightly", "tests", "Hurry."])).stdout).toContain("Kept for nightly");
    expect((await typed(here, ["tell", "--session", "tests", "Hurry."])).stdout).toContain("Kept for tests");
    const unsaid = await typed(here, ["tell", "--session", "tests", "only"]);
    expect([unsaid.code, unsaid.stderr]).toEqual([2, expect.stringContaining("only")]);
    expect((await typed(here, ["tell", "--session", "nightly", "only"])).stdout).toContain("Kept for nightly");
    expect((await typed(here, ["review", "--session", "tests", "--approve"])).stdout).toContain("Kept for tests");
    expect((await typed(here, ["cancel", "--session", "tests", "only"])).stdout).toContain("Kept for tests");
    const twice = await typed(here, ["cancel", "--session", "tests", "tests", "only"]);
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("--session")]);
    expect((await typed(here, ["cancel", "--session", "tests"])).stdout).toContain("tests is cancelled");
    expect(await typedJson(here, ["status", "nightly", "--json"])).toMatchObject({ state: "waiting" });
  });

  it("means the session to commands that only show", async () => {
    const here = await both();
    expect((await typed(here, ["log", "tests"])).stdout).toContain("next    bosun log tests only\n");
    expect((await typed(here, ["log", "nightly", "tests"])).stdout).toContain("replay nightly --ticket tests");
    expect((await typed(here, ["status", "tests"])).stdout).toContain("tests is waiting");
    expect((await typed(here, ["review", "tests"])).stdout).toContain("bosun review tests only --approve");
  });
});
