import { describe, expect, test } from "vitest";
import { withAuthProfile } from "../../src/config/auth-profiles.ts";
import { resolveSettings } from "../../src/config/settings.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { errorOf, problemsOf, scratch, valueOf } from "./scratch.ts";

const role = (auth_profile: unknown, more: Partial<Role> = {}): Role => ({
  role_id: "hand",
  type: "worker",
  cli_command: ["x"],
  metadata: { auth_profile } as Role["metadata"] & object,
  ...more,
});

const profiles = { work: { env: { REGION: "eu", MODE: "fast" }, pass_env: ["WORK_KEY"] }, home: { pass_env: ["KEY"] } };

describe("an auth profile", () => {
  test("gives its variables to a role, whose own come first", () => {
    const given = valueOf(withAuthProfile(role("work", { env: { MODE: "slow" }, pass_env: ["OTHER"] }), profiles));
    expect(given).toMatchObject({ env: { REGION: "eu", MODE: "slow" }, pass_env: ["WORK_KEY", "OTHER"] });
  });
  test.each(["default", "default_worker"])("that is called %s and not there means the program's own login", (name) => {
    expect(valueOf(withAuthProfile(role(name), profiles))).toEqual(role(name));
  });
  test("that is not there is refused with those that are", () => {
    const { code, message } = errorOf(withAuthProfile(role("wrok"), profiles));
    expect([code, message]).toEqual(["configuration", expect.stringMatching(/hand.*"wrok".*work, home/)]);
    expect(errorOf(withAuthProfile(role("work"), {})).code).toBe("configuration");
    expect(errorOf(withAuthProfile(role("toString"), profiles)).code).toBe("configuration");
  });

  const read = (text: string) =>
    resolveSettings({
      flags: [],
      environment: {},
      directory: "/",
      roles: [],
      at_terminal: false,
      config: scratch().write("c.yaml", text),
    });
  test("is read from settings, which do not record it", async () => {
    const settings = valueOf(await read("auth_profiles: {work: {env: {A: b}}}\n"));
    expect(settings.auth_profiles).toEqual({ work: { env: { A: "b" } } });
    expect(settings.values).not.toHaveProperty("auth_profiles");
  });
  test.each([
    ["a secret value", "auth_profiles: {work: {env: {OPENAI_API_KEY: x}}}", "1:30", "pass_env: [OPENAI_API_KEY]"],
    ["an invalid variable", "auth_profiles: {work: {env: {A=B: x}}}", "1:30", '"A=B"'],
    ["a NUL byte in a variable", String.raw`auth_profiles: {work: {env: {A: "b\0"}}}`, "1:33", "NUL"],
    ["an invalid name", "auth_profiles: {a.b: {pass_env: [X]}}", "1:16", '"a.b"'],
    ["nothing in it", "auth_profiles: {work: {}}", "1:23", "pass_env"],
  ])("is refused with %s", async (_, text, where, fact) => {
    expect(problemsOf(errorOf(await read(text)))).toEqual([[where, expect.stringContaining(fact)]]);
  });
});
