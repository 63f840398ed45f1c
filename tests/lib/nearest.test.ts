import { describe, expect, test } from "vitest";
import { nearest } from "../../src/lib/nearest.ts";

const keys = ["role_id", "display_name", "type", "cli_command", "capabilities", "timeout_s", "idle_timeout_s"];

describe("the nearest known word", () => {
  test.each([
    ["cli_comand", "cli_command"],
    ["clicommand", "cli_command"],
    ["CLI-COMMAND", "cli_command"],
    ["roleid", "role_id"],
    ["tpye", "type"],
    ["timout_s", "timeout_s"],
    ["timeouts", "timeout_s"],
    ["capabilites", "capabilities"],
  ])("of %s is %s", (word, meant) => {
    expect(nearest(word, keys)).toBe(meant);
  });

  test.each(["zzz", "", "x", "entirely_different", "a".repeat(10_000)])("is undefined for %j", (word) => {
    expect(nearest(word, keys)).toBeUndefined();
  });

  test("is one with this prefix if no other is near", () => {
    expect(nearest("disp", keys)).toBe("display_name");
    expect(nearest("idle", [...keys, "idles"])).toBe("idles");
    expect(nearest("di", keys)).toBeUndefined();
  });

  test("is the first of several equally near ones", () => {
    expect(nearest("ab", ["ax", "ay"])).toBe("ax");
  });
});
