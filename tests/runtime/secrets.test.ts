import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { withholderFor, withoutSecrets } from "../../src/runtime/secrets.ts";
import type { Role } from "../../src/protocol/roles.ts";
import { ROOT } from "../commands/rig.ts";

function roleWith(env: Record<string, string>, pass_env: readonly string[] = []): Role {
  return { role_id: "worker", type: "worker", cli_command: ["claude"], env, pass_env };
}

/** Values that programs are configured with, and that no record may lose. */
const PLAIN = {
  MODEL: "claude-sonnet-4-5-20250929",
  NODE_OPTIONS: "--max-old-space-size=4096",
  BASE: "http://127.0.0.1:8080/v1",
  HOME: "/home/ada/.config/x9f8e7d6c5b4a",
  CI: "true",
  REGION: "eu-west-1",
  GIT_AUTHOR_NAME: "Ada Lovelace",
  LIMIT: "1800000",
  LC_ALL: "C.UTF-8",
  PLAYBOOK: "/tmp/bosun-a2V2Mc/it's a home/plan.json",
  OPTIONS: "--require /tmp/x9F8e7/a.js --import=/tmp/a2V2Mc/b.js",
  WORDS: "Answer in plain English, please.",
};

const SECRET = {
  DB_PASS: "swordfish",
  GH_PAT: "abcdefgh",
  PASSPHRASE: "open sesame",
  AUTH: "Basic abc",
  SESSION_COOKIE: "nomnomnom",
  ANTHROPIC_API_KEY: "sk-ant-short",
  DATABASE_URL: "postgres://app:pw@db/prod",
  WEBHOOK: "https://hooks.example/T0/B1/x9F8e7D6c5B4a",
  ID: "550e8400-e29b-41d4-a716-446655440000",
};

describe("the variables of a role", () => {
  it("keep short values, without which a resume could not go on", () => {
    const role = roleWith({ BUILD: "a2V2Mc9x" });
    expect(withoutSecrets(role)).toEqual(role);
    expect(withholderFor([role], {}).text("a2V2Mc9x")).toBe("[withheld]");
  });

  it("are recorded without the values that may be secret", () => {
    const { env } = withoutSecrets(roleWith({ ...PLAIN, ...SECRET }));
    expect(env).toEqual({ ...PLAIN, ...Object.fromEntries(Object.keys(SECRET).map((name) => [name, "[withheld]"])) });
  });

  it.for(Object.entries(SECRET))("%s is withheld from texts, of its own or passed on", ([name, value]) => {
    const own = withholderFor([roleWith({ [name]: value })], {});
    const passed = withholderFor([roleWith({}, [name])], { [name]: value });
    expect([own, passed].map((secrets) => secrets.text(`<${value}>`))).toEqual(["<[withheld]>", "<[withheld]>"]);
  });

  it("take nothing from texts that programs print, if they are plain", () => {
    const secrets = withholderFor([roleWith(PLAIN, ["USER"])], { USER: "ada" });
    const told = Object.values(PLAIN).join(" ada ");
    expect(secrets.text(told)).toBe(told);
    const streams = join(ROOT, "tests/fixtures/streams");
    const files = readdirSync(streams, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("."));
    const all = withholderFor([roleWith({ ...PLAIN, ...SECRET })], {});
    const altered = files.filter((name) => {
      const text = readFileSync(join(streams, name), "utf8");
      return all.text(text) !== text;
    });
    expect([files.length > 10, altered]).toEqual([true, []]);
  });
});
