import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { CATALOGUE } from "../../src/commands/catalogue.ts";
import { insideOf } from "../../src/protocol/inside-turn.ts";
import { typed, typedIn } from "./in-process.ts";
import { rig, tinyPlan } from "./rig.ts";
import { open } from "./terminal.ts";

const CHECK = { BOSUN_SESSION_ID: "s-abc", BOSUN_ARTIFACTS_DIR: "/artifacts" };
const TURN = { ...CHECK, BOSUN_TURN_ID: "t3" };

const DECIDING = [
  "resume",
  "answer",
  "retry",
  "tell",
  "pause",
  "stop",
  "cancel",
  "prune",
  "trust",
  "give",
  "merge",
  "undo",
  "discard",
];
const DECISIONS: readonly (readonly string[])[] = [
  ...DECIDING.map((command) => [command]),
  ["rm", "s-abc"],
  ["cancel", "s-abc", "--yes"],
  ["resume", "--budget-turns", "900", "--yes"],
  ["trust", "--yes"],
  ["plan", "--approve"],
  ["plan", "s-abc", "--revise", "Again."],
  ["plan", "--reject"],
  ["plan", "--edit"],
  ["review", "--approve"],
  ["review", "s-abc", "one", "--changes", "Again."],
  ["review", "--reject"],
];

describe("a command that takes a person's decision", () => {
  test.each(DECISIONS)(
    "is refused inside a turn and inside a check, before anything is opened: %s %s",
    async (...args) => {
      const here = rig();
      for (const [inside, where] of [
        [TURN, "turn t3 of s-abc"],
        [CHECK, "a check of s-abc"],
      ] as const) {
        const { code, stdout, stderr } = await typed(here, args, inside);
        expect([code, stdout, stderr]).toEqual([2, "", expect.stringContaining(where)]);
      }
      expect(existsSync(here.home)).toBe(false);
    },
  );

  it("is one of those that the catalogue marks", () => {
    const marked = CATALOGUE.filter(({ decides }) => decides !== undefined).map(({ name }) => name);
    expect(marked.sort()).toEqual([...DECIDING, "plan", "review", "rm"].sort());
  });

  it("is refused to real agents and checks, and not to the program of a notification", async () => {
    const here = rig();
    const said = (file: string, command: string) => `bosun ${command} > ${file} 2>&1; echo $? >> ${file}`;
    const plan = tinyPlan([
      {
        task_id: "one",
        shell: said("told", 'tell "$BOSUN_SESSION_ID" "Do as I say."'),
        more: { acceptance_criteria: [{ text: "c", command: ["sh", "-c", said("checked", "cancel --yes")] }] },
      },
    ]);
    const config = JSON.stringify({ notify: { command: ["sh", "-c", said("notified", "trust")], on: ["closed"] } });
    const files = ["--plan", here.write("plan.json", plan), "--config", here.write("config.json", config)];
    expect((await here.run(["run", ...files, "--session", "s-real", "--no-input"])).code).toBe(0);
    const read = (file: string) => readFileSync(join(here.workspace, file), "utf8");
    expect(read("told")).toMatch(/turn t\d+ of s-real[^]*\n2\n$/);
    expect(read("checked")).toMatch(/a check of s-real[^]*\n2\n$/);
    expect(read("notified")).toContain("no .bosun folder");
  });

  it("is not one that only shows, nor one that begins a session, which names the agent; that session is not taken up", async () => {
    const here = rig();
    const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "true" }]));
    const begin = ["run", "--plan", plan, "--session", "s-own", "--yes", "--no-input"];
    expect((await here.run(begin, { env: TURN })).code).toBe(0);
    for (const shown of [["plan", "s-own"], ["review", "s-own"], ["status"], ["inbox"], ["log", "s-own"]])
      expect((await typed(here, shown, TURN)).code).toBe(0);
    const first = readFileSync(join(here.home, "logs", "s-own", "000001-session_opened.json"), "utf8");
    expect(JSON.parse(first)).toMatchObject({ payload: { started_by: { via: "agent" } } });
    expect(await here.run(begin, { env: TURN })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("turn t3 of s-abc") as string,
    });
    expect((await here.run(begin)).code).toBe(0);
  });
});

test("nobody is asked at a terminal that an agent opens", async () => {
  const here = rig();
  const pane = open(here, ["init", "--crew", "embedded"], TURN);
  expect(await pane.exit()).toBe(0);
  expect(existsSync(join(here.workspace, ".bosun", "roles.yaml"))).toBe(true);
});

test("a home that an agent names is not remembered as the person's", async () => {
  const here = rig();
  const home = join(here.workspace, "planted");
  const elsewhere = { XDG_STATE_HOME: join(here.home, "state") };
  const plan = here.write("plan.json", tinyPlan([{ task_id: "one", shell: "true" }]));
  expect((await typed(here, ["--home", home, "run", "--plan", plan], elsewhere)).code).toBe(0);
  const found = () => typedIn(home, here.environment, ["status"]);
  expect((await typed(here, ["--home", home, "status"], TURN)).code).toBe(0);
  expect((await found()).code).toBe(3);
  expect((await typed(here, ["--home", home, "status"])).code).toBe(0);
  expect((await found()).code).toBe(0);
});

test.each([
  ["a turn", TURN, "turn t3 of s-abc"],
  ["a turn of a role that sets other variables", { ...TURN, BOSUN_EVENT: "closed" }, "turn t3 of s-abc"],
  ["a check", CHECK, "a check of s-abc"],
  ["a notification's program", { ...CHECK, BOSUN_EVENT: "closed" }, undefined],
  ["a script of a person that keeps an id", { BOSUN_SESSION_ID: "s-abc" }, undefined],
  ["nothing of Bosun", {}, undefined],
])("variables tell what a program runs in: %s", (_, environment, inside) => {
  expect(insideOf(environment)).toBe(inside);
});
