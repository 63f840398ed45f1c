import { describe, expect, it } from "vitest";
import { projectCommands } from "../../src/config/project-commands.ts";
import { isAllowedCommand, isPlainCommand, prefixOf, withArguments } from "../../src/protocol/allowed-commands.ts";
import { scratch } from "./scratch.ts";

function commandsOf(files: Readonly<Record<string, string>>): string[] {
  const folder = scratch();
  for (const [name, text] of Object.entries(files)) folder.write(name, text);
  return projectCommands(folder.directory);
}

describe("the commands of a project", () => {
  const scripts = { test: "vitest", build: "tsc", deploy: "scp", typecheck: "tsc" };
  it.each<[string, Record<string, string>, string[]]>([
    ["nothing", {}, []],
    [
      "scripts that test, build and examine",
      { "package.json": JSON.stringify({ scripts }) },
      ["npm test", "npm run build", "npm run typecheck"],
    ],
    [
      "the package manager of its lock file",
      { "package.json": JSON.stringify({ scripts }), "pnpm-lock.yaml": "" },
      ["pnpm test", "pnpm run build", "pnpm run typecheck"],
    ],
    [
      "no test of npm init",
      { "package.json": '{"scripts":{"test":"echo \\"Error: no test specified\\" && exit 1"}}' },
      [],
    ],
    ["no broken file", { "package.json": "{" }, []],
    ["targets of make", { Makefile: "test: all\n\tcc\nlint := x\nbuild:\n" }, ["make test", "make build"]],
    ["tools of Python", { "pyproject.toml": "[tool.ruff]\n[tool.pytest.ini_options]\n" }, ["pytest", "ruff check"]],
    ["Rust", { "Cargo.toml": "" }, ["cargo test", "cargo build", "cargo check", "cargo clippy"]],
    ["Go", { "go.mod": "" }, ["go test", "go build", "go vet"]],
  ])("are, with %s", (_, files, expected) => {
    expect(commandsOf(files)).toEqual(expected);
    expect(expected.filter((command) => !isPlainCommand(command))).toEqual([]);
  });

  it("are allowed with more arguments, and not with another command", () => {
    const patterns = withArguments(["npm test"]);
    const asked = [
      "npm test",
      "npm test -- t1",
      "npm tests",
      "npm test && reboot",
      "npm test $(reboot)",
      "npm test\nreboot",
    ];
    expect(asked.map((command) => isAllowedCommand(command, patterns))).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  it.each([
    ["npm test -- t1", "npm test"],
    ["npm run build --watch", "npm run build"],
    ["cargo test", "cargo test"],
    ["npm run", undefined],
    ["node scripts/x.js a", undefined],
    ["rm -rf build", undefined],
    ["bash build", undefined],
    ["sudo rm x", undefined],
    ["pnpm dlx x", undefined],
    ["uv run python -c x", undefined],
    ["make", undefined],
    ["npm test && reboot", undefined],
    ["ls > x", undefined],
  ])("stand behind %s as %s", (command, prefix) => {
    expect(prefixOf(command)).toBe(prefix);
  });
});
