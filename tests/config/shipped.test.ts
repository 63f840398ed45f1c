import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { shipped } from "../../src/lib/files.ts";
import { scratch } from "./scratch.ts";

const root = shipped();

/** Runs `bosun roles` of an installation whose file below `config/` was edited. */
function edited(file: string, change: (text: string) => string, ...args: string[]) {
  const { directory } = scratch();
  for (const folder of ["src", "schemas", "migrations", "config"])
    cpSync(join(root, folder), join(directory, folder), { recursive: true });
  cpSync(join(root, "package.json"), join(directory, "package.json"));
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"));
  const path = join(directory, "config", file);
  writeFileSync(path, change(readFileSync(path, "utf8")));
  const { PATH } = process.env;
  const command = [join(directory, "src", "cli.ts"), "--home", join(directory, "home"), "roles", ...args];
  const env = { PATH, HOME: directory, XDG_STATE_HOME: directory };
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: directory, env, encoding: "utf8" });
  return { status, stdout, stderr, path };
}

describe("the shipped configuration", () => {
  test("is refused with its place if a setting has a wrong value or name", () => {
    const { status, stderr, path } = edited("scheduler_config.json", (text) =>
      text.replace('"max_workers": 4', '"max_workers": "four"').replace('"max_retries"', '"max_retrys"'),
    );
    expect(status).toBe(3);
    expect(stderr).toContain(`${path}:3`);
    expect(stderr).toContain("max_workers");
    expect(stderr).toContain("max_retries");
  });

  test("is refused with its place if a role has a wrong key", () => {
    const { status, stderr, path } = edited("roles.json", (text) => text.replace('"capabilities"', '"capabilites"'));
    expect(status).toBe(3);
    expect(stderr).toContain(`${path}:9`);
    expect(stderr).toContain("capabilities");
  });

  test("has roles that are listed with their file, and take a seat by name", () => {
    const agent = (text: string) => text.replace('["codex", "cli"]', '["true", "cli"]');
    const listed = edited("roles.json", agent);
    expect(listed).toMatchObject({ status: 0 });
    expect(listed.stdout).toMatch(/^playbook +manager/m);
    expect(listed.stdout).toContain(listed.path);
    expect(listed.stdout).toContain("--manager manager_codex, --worker worker_claude");
    const named = edited("roles.json", agent, "--manager", "manager_codex");
    expect(named.stdout).toMatch(/^manager_codex +manager .*true cli$/m);
    expect(named.stdout).not.toMatch(/^playbook/m);
  });
});
