import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { CONFIGURATION_DEFAULTS } from "../../src/protocol/payload.ts";
import { typed, typedJson } from "./in-process.ts";
import { type Rig, rig } from "./rig.ts";

interface Told {
  readonly files: Readonly<Record<string, string | null>>;
  readonly settings: readonly { key: string; value?: unknown; hidden?: true; from: string; where?: string }[];
}

async function told(here: Rig, ...args: readonly string[]) {
  const all = await typedJson<Told>(here, ["config", "--json", ...args]);
  return { ...all, setting: (key: string) => all.settings.find((one) => one.key === key) };
}

/** A project whose settings only lower limits, and a user with their own settings. */
function configured(): Rig & { readonly project: string; readonly user: string } {
  const here = rig();
  mkdirSync(join(here.workspace, ".git"));
  const project = here.write("workspace/.bosun/scheduler_config.yaml", "# ours\nmax_retries: 1\nbudget:\n  turns: 7\n");
  const profiles = "auth_profiles:\n  mine:\n    env: { REGION: kept-from-view }\n    pass_env: [API_KEY]\n";
  const user = here.write("config/bosun/scheduler_config.yaml", `max_workers: 2\nmax_retries: 1\n${profiles}`);
  return { ...here, project, user };
}

it("shows the source of each setting: flag, variable, file with line, or default", async () => {
  const here = configured();
  const { files, setting } = await told(here, "--budget-usd", "2", "--confirm");
  expect(files).toEqual({ config: null, project: here.project, user: here.user });
  const config = here.write("named.json", '{\n  "proposal": "never"\n}\n');
  const named = await told(here, "--config", config);
  // A named file replaces the project's.
  expect(named.files).toEqual({ config, project: null, user: here.user });
  const variables = { BOSUN_TIMEOUT_S: "15m" };
  const { stdout } = await typed(here, ["config", "--json"], variables);
  const timeout = (JSON.parse(stdout) as Told).settings.find(({ key }) => key === "timeout_s");
  const given = [
    setting("budget.turns"),
    setting("max_workers"),
    named.setting("proposal"),
    setting("budget.usd"),
    timeout,
  ];
  expect([...given, setting("confirm"), setting("max_hold_s")]).toEqual([
    { key: "budget.turns", value: 7, from: "file", where: `${here.project}:4` },
    { key: "max_workers", value: 2, from: "file", where: `${here.user}:1` },
    { key: "proposal", value: "never", from: "file", where: `${config}:2` },
    { key: "budget.usd", value: 2, from: "flag", where: "--budget-usd" },
    { key: "timeout_s", value: 900, from: "environment", where: "BOSUN_TIMEOUT_S" },
    { key: "confirm", value: true, from: "flag", where: "--confirm" },
    { key: "max_hold_s", value: CONFIGURATION_DEFAULTS.max_hold_s, from: "default" },
  ]);
});

it("shows every setting in a table, with short paths", async () => {
  const here = configured();
  const { code, stdout } = await typed(here, ["config"]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^budget\.turns +7 +\.bosun\/scheduler_config\.yaml:4$/m);
  expect(stdout).toMatch(/^max_workers +2 +~\/config\/bosun\/scheduler_config\.yaml:1$/m);
  for (const key of Object.keys(CONFIGURATION_DEFAULTS)) expect(stdout).toMatch(new RegExp(`^${key}\\b`, "m"));
});

it("never shows the values of variables", async () => {
  const here = configured();
  const metadata = here.write("metadata.json", '{"metadata": {"inner": [{"env": {"TOKEN": "kept-from-view"}}]}}');
  for (const args of [[], ["--json"]]) {
    const { stdout } = await typed(here, ["config", "--config", metadata, ...args]);
    expect(stdout).not.toContain("kept-from-view");
    for (const name of ["REGION", "API_KEY", "TOKEN"]) expect(stdout).toContain(name);
  }
  const { setting } = await told(here);
  const where = `${here.user}:5`;
  expect(setting("auth_profiles.mine.env.REGION")).toMatchObject({ hidden: true, from: "file", where });
});

it("fails as a run would if a file is wrong or untrusted, and creates nothing", async () => {
  const here = configured();
  const wrong = here.write("wrong.yaml", "max_worker: 3\n");
  const failed = await typed(here, ["config", "--config", wrong, "--json"]);
  expect([failed.code, JSON.parse(failed.stdout)]).toMatchObject([3, { type: "error", code: "configuration" }]);
  here.write("workspace/.bosun/scheduler_config.yaml", "notify: { command: [touch, told] }\n");
  expect((await typed(here, ["config"])).code).toBe(3);
  expect(existsSync(here.home)).toBe(false);
});
