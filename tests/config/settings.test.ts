import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { loadCrew } from "../../src/config/crews.ts";
import { shipped } from "../../src/lib/files.ts";
import { resolveSettings, type SettingSources } from "../../src/config/settings.ts";
import { CONFIGURATION_DEFAULTS } from "../../src/protocol/payload.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { errorOf, problemsOf, scratch, valueOf } from "./scratch.ts";

const nothing: SettingSources = {
  flags: [],
  environment: {},
  directory: "/home/me/here",
  roles: [],
  at_terminal: false,
};

async function resolved(sources: Partial<SettingSources>) {
  return valueOf(await resolveSettings({ ...nothing, ...sources }));
}

describe("the defaults", () => {
  test("apply when no source gives a setting", async () => {
    const { values } = await resolved({});
    expect(values).toEqual({
      ...CONFIGURATION_DEFAULTS,
      plan_approval: "never",
      confirm: false,
      workspace: "/home/me/here",
    });
  });
  test("are those of the shipped file", () => {
    const file: unknown = JSON.parse(readFileSync(shipped("config", "scheduler_config.json"), "utf8"));
    expect(file).toEqual({ $schema: "../schemas/scheduler_config.schema.json", ...CONFIGURATION_DEFAULTS });
  });
  test("are unchanged by the shipped file", async () => {
    const { values } = await resolved({ config: shipped("config", "scheduler_config.json") });
    expect(values).toEqual((await resolved({})).values);
  });
  test("of attempts, times, rounds and budget are those of SPEC.md", () => {
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

describe("plan approval", () => {
  const worker = (more: Partial<Role>): Role => ({ role_id: "w", type: "worker", ...more });
  test.each([
    [
      "is asked for when one role costs money",
      [worker({ cli_command: ["x"] }), worker({ cli_command: ["claude"] })],
      "ask",
    ],
    ["is asked for when a role is a model", [worker({ backend: "model" })], "ask"],
    ["is not asked for when no role costs money", [worker({ cli_command: ["x"] })], "never"],
  ] as const)("%s", async (_, roles, approval) => {
    expect((await resolved({ roles })).values.plan_approval).toBe(approval);
  });
  test.each([
    ["ask", true, worker({ cli_command: ["python3", "w.py"] })],
    ["never", false, undefined],
  ] as const)(
    "at a terminal is %s, and confirm %s, with the embedded crew and %j",
    async (plan_approval, confirm, more) => {
      const embedded = valueOf(await loadCrew("embedded", []));
      const roles = more === undefined ? embedded : [...embedded, more];
      expect((await resolved({ roles, at_terminal: true })).values).toMatchObject({ plan_approval, confirm });
      expect((await resolved({ roles })).values).toMatchObject({ plan_approval: "never", confirm: false });
      const environment = { BOSUN_CONFIRM: String(!confirm) };
      expect((await resolved({ roles, environment, at_terminal: true })).values.confirm).toBe(!confirm);
    },
  );
  test("is not asked for when a flag says so", async () => {
    const roles = [worker({ cli_command: ["claude"] })];
    const flags = [{ name: "--plan-approval", key: "plan_approval", text: "never" }] as const;
    expect((await resolved({ roles, flags })).values.plan_approval).toBe("never");
  });
});

describe("of several sources", () => {
  const file = (max_workers: number) => `{"max_workers": ${max_workers}}`;
  test("flags win over --config, the environment, the project and the user", async () => {
    const place = scratch();
    const all: Pick<SettingSources, "user" | "project" | "environment" | "config" | "flags"> = {
      user: place.write("user/scheduler_config.json", file(11)),
      project: place.write("repo/.bosun/scheduler_config.json", file(12)),
      environment: { BOSUN_MAX_WORKERS: "13" },
      config: place.write("named.json", file(14)),
      flags: [{ name: "--max-workers", key: "max_workers", text: "15" }],
    };
    const order = ["flags", "config", "environment", "project", "user"] as const;
    const seen: unknown[] = [];
    const left: Partial<SettingSources> & { [key: string]: unknown } = { ...all };
    for (const name of order) {
      const settings = await resolved(left);
      seen.push([settings.values.max_workers, place.plain(settings.origins.get("max_workers")?.where ?? "")]);
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

  test("gives words that signal risk in place of a policy, and a policy in place of them", async () => {
    const place = scratch();
    const user = place.write("user.yaml", "proposal: {patterns: [live]}\n");
    const config = place.write("c.yaml", "proposal: never\n");
    expect((await resolved({ user })).values.proposal).toEqual({ patterns: ["live"] });
    expect((await resolved({ user, config })).values.proposal).toBe("never");
  });

  test("a relative workspace is relative to its source", async () => {
    const place = scratch();
    const workspace = async (sources: Partial<SettingSources>) =>
      place.plain((await resolved(sources)).values.workspace);
    const text = "workspace: sub/dir\n";
    expect(await workspace({ config: place.write("conf/c.yaml", text) })).toBe("~/conf/sub/dir");
    expect(await workspace({ project: place.write("repo/.bosun/scheduler_config.yaml", text) })).toBe("~/repo/sub/dir");
    expect(await workspace({ environment: { BOSUN_WORKSPACE: "sub" } })).toBe("/home/me/here/sub");
    expect(await workspace({ flags: [{ name: "--cwd", key: "workspace", text: "../there" }] })).toBe("/home/me/there");
  });

  test("each gives the origin of its values", async () => {
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
    const given = [...settings.origins].filter(([, { from }]) => from !== "default");
    const told = given.map(([key, { from, where }]) => `${key} (${from} ${place.plain(where)})`);
    expect(told.toSorted()).toEqual([
      "budget.turns (file ~/c.yaml:4)",
      "budget.usd (environment BOSUN_BUDGET_USD)",
      "max_retries (file ~/c.yaml:2)",
      "metadata (file ~/c.yaml:5)",
      "retry_backoff_ms (environment BOSUN_RETRY_BACKOFF_MS)",
      "timeout_s (environment BOSUN_TIMEOUT_S)",
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
  const failure = async (sources: Partial<SettingSources>) =>
    errorOf(await resolveSettings({ ...nothing, ...sources }));
  const wrong = async (sources: Partial<SettingSources>) => problemsOf(await failure(sources));
  const inFile = (text: string) => wrong({ config: scratch().write("c.yaml", text) });

  test("in a file is shown at its position", async () => {
    const lines = [
      "max_worker: 2",
      "max_retries: many",
      "plan_approval: maybe",
      "notify: {on: [questoin]}",
      "checks: {ticket: [{command: [x]}]}",
      "budget: {dollars: 5}",
      "timeout_s: 30m",
    ];
    expect(await inFile(lines.join("\n"))).toEqual([
      ["1:1", expect.stringMatching(/"max_worker".* max_workers$/)],
      ["2:14", expect.stringContaining("an integer")],
      ["3:16", expect.stringContaining('"ask" or "never"')],
      ["4:9", expect.stringContaining('"command"')],
      ["4:15", expect.stringMatching(/"questoin".* question$/)],
      ["5:19", expect.stringContaining('"text"')],
      ["6:10", expect.stringMatching(/"dollars".*turns, tokens, usd, wall_s or ticket/)],
      ["7:12", expect.stringContaining("a number of seconds")],
    ]);
    expect(await inFile("just a text\n")).toEqual([["1:1", expect.stringContaining("an object")]]);
  });
  test("that checks or limits nothing is refused", async () => {
    const checks = 'checks: {ticket: [{text: lint, command: [npm, run, lint]}, "npm test", {text: kind}]}\n';
    expect(await inFile(checks)).toEqual([
      ["1:60", expect.stringContaining("command")],
      ["1:72", expect.stringContaining("command")],
    ]);
    expect(await inFile("budget:\n  ticket:\n    tokens: 5\n")).toEqual([
      ["3:5", expect.stringContaining("budget.tokens")],
    ]);
  });
  test("in the environment is shown by its variable", async () => {
    const environment = { BOSUN_MAX_WORKERS: "lots", BOSUN_TIMEOUT_S: "soon" };
    expect(await wrong({ environment })).toEqual([
      ["BOSUN_MAX_WORKERS", expect.stringContaining('"lots"')],
      ["BOSUN_TIMEOUT_S", expect.stringMatching(/"soon".*15m/)],
    ]);
    expect(await wrong({ environment: { BOSUN_MAX_RETRIES: "1.5", BOSUN_BUDGET_WALL_S: "-1" } })).toEqual([
      ["BOSUN_MAX_RETRIES", expect.stringContaining("an integer")],
      ["BOSUN_BUDGET_WALL_S", expect.stringContaining("-1")],
    ]);
  });
  test("in a flag is shown by the flag, with the code usage", async () => {
    const flags = [
      { name: "--isolation", key: "isolation", text: "worktrees" },
      { name: "--budget-usd", key: "budget.usd", text: "-2" },
    ] as const;
    const { code, message } = await failure({ flags });
    expect(code).toBe("usage");
    expect(message.split("\n")).toEqual([
      expect.stringMatching(/^--isolation: .*"worktrees".*"worktree"\?$/),
      expect.stringMatching(/^--budget-usd: .*-2/),
    ]);
  });
  test("is shown with those of all other sources", async () => {
    const place = scratch();
    const sources = {
      user: place.write("u.yaml", "a: 1\n"),
      project: join(place.directory, "none.yaml"),
      flags: [{ name: "--max-workers", key: "max_workers", text: "0" }] as const,
    };
    expect((await wrong(sources)).map(([where]) => where)).toEqual(["1:1", "none.yaml", "--max-workers"]);
  });
});
