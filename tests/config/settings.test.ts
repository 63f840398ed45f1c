import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { shipped } from "../../src/config/installation.ts";
import { loadPlanFile } from "../../src/config/plan-file.ts";
import { variableOf } from "../../src/config/setting-text.ts";
import { resolveSettings, type SettingPlaces } from "../../src/config/settings.ts";
import { CONFIGURATION_DEFAULTS } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { errorOf, scratch, valueOf } from "./scratch.ts";

const nothing: SettingPlaces = { flags: [], environment: {}, directory: "/home/me/here", roles: [] };

async function resolved(places: Partial<SettingPlaces>) {
  return valueOf(await resolveSettings({ ...nothing, ...places }));
}

describe("the defaults", () => {
  test("hold when nobody says anything", async () => {
    const { values } = await resolved({});
    expect(values).toEqual({ ...CONFIGURATION_DEFAULTS, plan_approval: "never", workspace: "/home/me/here" });
  });
  test("are what the shipped file says", () => {
    const file: unknown = JSON.parse(readFileSync(shipped("config", "scheduler_config.json"), "utf8"));
    expect(file).toEqual({ $schema: "../schemas/scheduler_config.schema.json", ...CONFIGURATION_DEFAULTS });
  });
  test("let the shipped file be used as it is", async () => {
    const { values } = await resolved({ config: shipped("config", "scheduler_config.json") });
    expect(values).toEqual((await resolved({})).values);
  });
  test("of attempts, times, rounds and budget are the promised ones", () => {
    expect(CONFIGURATION_DEFAULTS).toMatchObject({
      max_retries: 2,
      retry_backoff_ms: 1_000,
      timeout_s: 1_800,
      idle_timeout_s: 600,
      kill_grace_s: 5,
      answer_grace_s: 2,
      max_line_bytes: 8 * 1024 * 1024,
      max_output_bytes: 64 * 1024 * 1024,
      max_review_rounds: 3,
      check_rounds: 2,
      max_clarification_rounds: 5,
      max_escalations: 2,
      max_recoveries: 3,
      max_hold_s: 3_600,
      review: "manager",
      isolation: "none",
      budget: { turns: 200, wall_s: 4 * 3600 },
    });
  });
});

describe("the plan is approved by a person", () => {
  const worker = (more: Partial<Role>): Role => ({ role_id: "w", type: "worker", ...more });
  test.each([
    ["as soon as one role costs money", [worker({ cli_command: ["x"] }), worker({ cli_command: ["claude"] })], "ask"],
    ["with a model", [worker({ backend: "model" })], "ask"],
    ["not for programs that cost nothing", [worker({ cli_command: ["x"] })], "never"],
  ] as const)("%s", async (_, roles, approval) => {
    expect((await resolved({ roles })).values.plan_approval).toBe(approval);
  });
  test("or not, if somebody says so", async () => {
    const roles = [worker({ cli_command: ["claude"] })];
    const flags = [{ name: "--plan-approval", key: "plan_approval", text: "never" }] as const;
    expect((await resolved({ roles, flags })).values.plan_approval).toBe("never");
  });
});

describe("of several places", () => {
  const file = (max_workers: number) => `{"max_workers": ${max_workers}}`;
  test("flags win over --config, the environment, the project and the person, in this order", async () => {
    const place = scratch();
    const all: Pick<SettingPlaces, "user" | "project" | "environment" | "config" | "flags"> = {
      user: place.write("user/scheduler_config.json", file(11)),
      project: place.write("repo/.bosun/scheduler_config.json", file(12)),
      environment: { BOSUN_MAX_WORKERS: "13" },
      config: place.write("named.json", file(14)),
      flags: [{ name: "--max-workers", key: "max_workers", text: "15" }],
    };
    const order = ["flags", "config", "environment", "project", "user"] as const;
    const seen: unknown[] = [];
    const left: Partial<SettingPlaces> & { [key: string]: unknown } = { ...all };
    for (const name of order) {
      const settings = await resolved(left);
      seen.push([settings.values.max_workers, place.plain(settings.origins.get("max_workers") ?? "")]);
      delete left[name];
    }
    seen.push((await resolved(left)).values.max_workers);
    expect(seen).toEqual([
      [15, "--max-workers"],
      [14, "~/named.json:1"],
      [13, "BOSUN_MAX_WORKERS"],
      [12, "~/repo/.bosun/scheduler_config.json:1"],
      [11, "~/user/scheduler_config.json:1"],
      CONFIGURATION_DEFAULTS.max_workers,
    ]);
  });

  test("each gives only the settings it names, down into budgets and checks", async () => {
    const place = scratch();
    const { values } = await resolved({
      user: place.write(
        "user.yaml",
        "budget: {usd: 5, turns: 10}\nchecks: {ticket: [{text: tests, command: [make, test]}], merge: [reviewed]}\n",
      ),
      project: place.write(".bosun/p.yaml", "budget: {turns: 20}\nchecks: {ticket: []}\n"),
      config: place.write("c.yaml", "budget: {}\nchecks: {}\nmax_retries: 0\n"),
    });
    expect(values.budget).toEqual({ turns: 20, usd: 5, wall_s: CONFIGURATION_DEFAULTS.budget.wall_s });
    expect(values.checks).toEqual({ ticket: [], merge: ["reviewed"] });
    expect(values.max_retries).toBe(0);
  });

  test("a relative workspace is meant from where it is written", async () => {
    const place = scratch();
    const workspace = async (places: Partial<SettingPlaces>) => place.plain((await resolved(places)).values.workspace);
    const text = "workspace: sub/dir\n";
    expect(await workspace({ config: place.write("conf/c.yaml", text) })).toBe("~/conf/sub/dir");
    expect(await workspace({ project: place.write("repo/.bosun/scheduler_config.yaml", text) })).toBe("~/repo/sub/dir");
    expect(await workspace({ environment: { BOSUN_WORKSPACE: "sub" } })).toBe("/home/me/here/sub");
    expect(await workspace({ flags: [{ name: "--cwd", key: "workspace", text: "../there" }] })).toBe("/home/me/there");
  });

  test("the origin of every value that is no default is told", async () => {
    const place = scratch();
    const settings = await resolved({
      config: place.write("c.yaml", "# mine\nmax_retries: 0\nbudget:\n  turns: 5\nmetadata: {a: {b: 1}}\n"),
      environment: {
        BOSUN_BUDGET_USD: "2.5",
        BOSUN_TIMEOUT_S: "15m",
        BOSUN_RETRY_BACKOFF_MS: "2s",
        BOSUN_MAX_WORKERS: "",
      },
    });
    const told = [...settings.origins].map(([key, where]) => `${key} (${place.plain(where)})`);
    expect(told.toSorted()).toEqual([
      "budget.turns (~/c.yaml:4)",
      "budget.usd (BOSUN_BUDGET_USD)",
      "max_retries (~/c.yaml:2)",
      "metadata (~/c.yaml:5)",
      "retry_backoff_ms (BOSUN_RETRY_BACKOFF_MS)",
      "timeout_s (BOSUN_TIMEOUT_S)",
    ]);
    const { max_retries, metadata, retry_backoff_ms, timeout_s, max_workers, budget } = settings.values;
    expect([max_retries, metadata, retry_backoff_ms, timeout_s, max_workers]).toEqual([
      0,
      { a: { b: 1 } },
      2_000,
      900,
      CONFIGURATION_DEFAULTS.max_workers,
    ]);
    expect(budget).toMatchObject({ turns: 5, usd: 2.5 });
  });
});

describe("a wrong setting", () => {
  const failure = async (places: Partial<SettingPlaces>) => errorOf(await resolveSettings({ ...nothing, ...places }));
  test("in a file is shown there", async () => {
    const place = scratch();
    const text =
      "max_worker: 2\nmax_retries: many\nplan_approval: maybe\nnotify: {on: [questoin]}\nchecks: {ticket: [{command: [x]}]}\nbudget: {dollars: 5}\ntimeout_s: 30m\n";
    const { code, message } = await failure({ config: place.write("c.yaml", text) });
    expect(code).toBe("configuration");
    expect(`\n${place.plain(message)}\n`).toMatchInlineSnapshot(`
      "
      ~/c.yaml:1:1: a scheduler configuration has no key "max_worker"; did you mean "max_workers"?
        1 | max_worker: 2
          | ^
      ~/c.yaml:2:14: "many" is not right here
        2 | max_retries: many
          |              ^
        expected: a whole number
      ~/c.yaml:3:16: "maybe" is not right here
        3 | plan_approval: maybe
          |                ^
        expected: ask or never
      ~/c.yaml:4:9: a notification needs the key "command"
        4 | notify: {on: [questoin]}
          |         ^
      ~/c.yaml:4:15: "questoin" is not right here; did you mean "question"?
        4 | notify: {on: [questoin]}
          |               ^
        expected: question, hold, stopped or closed
      ~/c.yaml:5:19: a criterion needs the key "text"
        5 | checks: {ticket: [{command: [x]}]}
          |                   ^
      ~/c.yaml:6:10: a session budget has no key "dollars"
        6 | budget: {dollars: 5}
          |          ^
        expected: turns, tokens, usd, wall_s or ticket
      ~/c.yaml:7:12: "30m" is not right here
        7 | timeout_s: 30m
          |            ^
        expected: a number of seconds
      "
    `);
  });
  test("that is a check without a command is shown there, since nothing would be checked", async () => {
    const place = scratch();
    const text = 'checks: {ticket: [{text: lint, command: [npm, run, lint]}, "npm test", {text: kind}]}\n';
    const { code, message } = await failure({ config: place.write("c.yaml", text) });
    expect(code).toBe("configuration");
    expect(`\n${place.plain(message)}\n`).toMatchInlineSnapshot(`
      "
      ~/c.yaml:1:60: this check has no command, so nothing would be checked
        1 | checks: {ticket: [{text: lint, command: [npm, run, lint]}, "npm test", {text: kind}]}
          |                                                            ^
        expected: a text and a command: {text: the tests pass, command: [npm, test]}
      ~/c.yaml:1:72: this check has no command, so nothing would be checked
        1 | checks: {ticket: [{text: lint, command: [npm, run, lint]}, "npm test", {text: kind}]}
          |                                                                        ^
        expected: a text and a command: {text: the tests pass, command: [npm, test]}
      "
    `);
  });
  test("in a file that is no mapping", async () => {
    const place = scratch();
    const { message } = await failure({ user: place.write("c.yaml", "just a text\n") });
    expect(`\n${place.plain(message)}\n`).toMatchInlineSnapshot(`
      "
      ~/c.yaml:1:1: "just a text" is not right here
        1 | just a text
          | ^
        expected: a mapping (key: value)
      "
    `);
  });
  test("in the environment is shown by the variable's name, as configuration", async () => {
    const environment = {
      BOSUN_MAX_WORKERS: "lots",
      BOSUN_TIMEOUT_S: "soon",
      BOSUN_MAX_RETRIES: "1.5",
      BOSUN_REVIEW: "nobody",
    };
    const { code, message } = await failure({ environment });
    expect(code).toBe("configuration");
    expect(`\n${message}\n`).toMatchInlineSnapshot(`
      "
      BOSUN_MAX_WORKERS: "lots" is not a number
        expected: a number such as 8
      BOSUN_TIMEOUT_S: "soon" is not a time
        expected: seconds as a number, or a duration such as 90s, 15m or 4h
      "
    `);
    expect((await failure({ environment: { BOSUN_MAX_RETRIES: "1.5" } })).message).toMatchInlineSnapshot(`
      "BOSUN_MAX_RETRIES: 1.5 is not right here
        expected: a whole number"
    `);
    expect((await failure({ environment: { BOSUN_BUDGET_TURNS: "-1" } })).message).toMatchInlineSnapshot(`
      "BOSUN_BUDGET_TURNS: -1 is too small
        expected: 0 or more"
    `);
  });
  test("in a flag is shown by the flag, as usage", async () => {
    const flags = [
      { name: "--isolation", key: "isolation", text: "worktrees" },
      { name: "--budget-usd", key: "budget.usd", text: "-2" },
    ] as const;
    const { code, message } = await failure({ flags });
    expect(code).toBe("usage");
    expect(`\n${message}\n`).toMatchInlineSnapshot(`
      "
      --isolation: "worktrees" is not right here; did you mean "worktree"?
        expected: none or worktree
      --budget-usd: -2 is too small
        expected: 0 or more
      "
    `);
  });
  test("in each of several places is shown at once", async () => {
    const place = scratch();
    const { code, message } = await failure({
      user: place.write("u.yaml", "a: 1\n"),
      project: join(place.directory, "none.yaml"),
      flags: [{ name: "--max-workers", key: "max_workers", text: "0" }],
    });
    expect(code).toBe("configuration");
    expect(
      place
        .plain(message)
        .split("\n")
        .filter((line) => !line.startsWith(" ")),
    ).toMatchInlineSnapshot(`
      [
        "~/u.yaml:1:1: a scheduler configuration has no key "a"",
        "~/none.yaml: there is no such file",
        "--max-workers: 0 is too small",
      ]
    `);
  });
});

test("a variable's name follows from the setting's", () => {
  expect([variableOf("max_workers"), variableOf("budget.wall_s")]).toEqual([
    "BOSUN_MAX_WORKERS",
    "BOSUN_BUDGET_WALL_S",
  ]);
});

test.each([
  ["a setting of tickets", "scheduler_config.yaml", "budget:\n  ticket:\n    tokens: 5\n", 3],
  ["a plan file", "plan.yaml", "tasks:\n  - task_id: a\n    description: Do it\n    budget: {usd: 1}\n", 4],
] as const)("a budget that nothing would keep is refused in %s, with its place", async (_, name, text, line) => {
  const file = scratch().write(name, text);
  const loaded = name === "plan.yaml" ? await loadPlanFile(file) : await resolveSettings({ ...nothing, config: file });
  const { code, message } = errorOf(loaded);
  expect(code).toBe("configuration");
  expect(message).toContain(`${name}:${line}:`);
  expect(message).toMatch(/the budget of a (ticket|task) cannot be in (tokens|money)/);
  expect(message).toContain('expected: "turns" or "wall_s"');
});
