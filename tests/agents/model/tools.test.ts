import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { PermissionRequest } from "../../../src/kernel/agent.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { scripted } from "../../model-servers/scripted.ts";
import { livingWith } from "../sandboxes.ts";
import { scratchDirectory } from "../scratch.ts";
import { ModelRig, KEY, report } from "./rig.ts";

type Call = readonly [tool: string, input: JsonObject];

/** Lets a model call these tools one after the other, and gives what it was told. */
async function called(
  calls: readonly Call[],
  { prepare, ...choices }: { prepare?: (directory: string) => void } & Parameters<ModelRig["turn"]>[0] = {},
): Promise<{ told: string[]; directory: string; lines: readonly string[] }> {
  const steps = calls.map(([tool, input]) => ({ act: [{ tool, input }] }));
  const rig = await ModelRig.open(scripted(...steps, { answer: report() as never }));
  prepare?.(rig.directory);
  const { result, lines } = await rig.turn(choices);
  expect(result.failure).toBeUndefined();
  expect(result.answer?.payload_type).toBe("report");
  return { told: rig.results(), directory: rig.directory, lines };
}

const GRANTED = { permit: () => ({ granted: true }) };

describe("files", () => {
  test("are written, read in part, edited, listed and searched", async () => {
    const { told, directory } = await called([
      ["write_file", { path: "src/deep/a.ts", content: "one\ntwo $& \nthree\n" }],
      ["read_file", { path: "src/deep/a.ts", from_line: 2, lines: 1 }],
      ["edit_file", { path: "src/deep/a.ts", old_text: "two $& ", new_text: "2 $1 $&" }],
      ["list_files", {}],
      ["list_files", { path: "src", name: "*.md" }],
      ["search", { pattern: "^(2|three)" }],
      ["search", { pattern: "nothing", path: "src" }],
    ]);
    expect(told).toEqual([
      "Wrote 18 bytes to src/deep/a.ts.",
      "two $& ",
      "Replaced 1 in src/deep/a.ts.",
      "src/deep/a.ts",
      "No file is there.",
      "src/deep/a.ts:2:2 $1 $&\nsrc/deep/a.ts:3:three",
      "No line matches.",
    ]);
    expect(readFileSync(join(directory, "src/deep/a.ts"), "utf8")).toBe("one\n2 $1 $&\nthree\n");
  });

  test("are edited only where the text is clear", async () => {
    const { told } = await called(
      [
        ["edit_file", { path: "a", old_text: "x", new_text: "y" }],
        ["edit_file", { path: "a", old_text: "z", new_text: "y" }],
        ["edit_file", { path: "a", old_text: "x", new_text: "y", all: true }],
        ["edit_file", { path: "none", old_text: "x", new_text: "y" }],
      ],
      { prepare: (directory) => writeFileSync(join(directory, "a"), "x x") },
    );
    expect(told.map((text) => text.replace(/^Error: /, ""))).toEqual([
      expect.stringContaining("occurs 2 times"),
      expect.stringContaining("does not occur"),
      "Replaced 2 in a.",
      expect.stringContaining("ENOENT"),
    ]);
  });

  test.each([
    ["../outside"],
    ["/etc/hostname"],
    ["away/secret"],
    ["~/x"],
    [".git/hooks/pre-commit"],
    [".bosun/roles.json"],
    ["sub/.GIT/config"],
  ])("at %s are neither read from outside nor written", async (path) => {
    const outside = scratchDirectory();
    writeFileSync(join(outside, "secret"), "hidden words");
    const { told } = await called(
      [
        ["write_file", { path, content: "gotcha" }],
        ["read_file", { path }],
      ],
      {
        prepare(directory) {
          symlinkSync(outside, join(directory, "away"));
          mkdirSync(join(directory, ".git/hooks"), { recursive: true });
        },
      },
    );
    expect(told[0]).toMatch(/may not be written/);
    expect(told[1]).toMatch(/not in the workspace|ENOENT/);
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("hidden words");
  });

  test("that are pipes, folders, binary or huge are refused", async () => {
    const { told } = await called(
      ["pipe", "folder", "binary", "huge"].map((path) => ["read_file", { path }] as const),
      {
        prepare(directory) {
          execFileSync("mkfifo", [join(directory, "pipe")]);
          mkdirSync(join(directory, "folder"));
          writeFileSync(join(directory, "binary"), Buffer.from([65, 0, 66]));
          writeFileSync(join(directory, "huge"), "x".repeat(11 * 1024 * 1024));
        },
      },
    );
    expect(told).toEqual([
      expect.stringContaining("is no file"),
      expect.stringContaining("is no file"),
      expect.stringContaining("is no text"),
      expect.stringContaining("too many"),
    ]);
  });

  test("with a long text are cut, with the line to go on from", async () => {
    const { told } = await called([["read_file", { path: "long" }]], {
      prepare: (directory) => writeFileSync(join(directory, "long"), `${"0123456789".repeat(10)}\n`.repeat(2_000)),
    });
    expect(told[0]?.length).toBeLessThan(70_000);
    expect(told[0]).toMatch(/\[cut in line 649 of 2001: read on with from_line\]$/);
  });
});

describe("a command", () => {
  test("runs unasked if the role names it", async () => {
    const role = { permissions: { commands: ["echo *"], ask: "deny" } } as const;
    const { told } = await called(
      [
        ["run_command", { command: "echo out" }],
        ["run_command", { command: "echo a; rm b" }],
      ],
      { role },
    );
    expect(told).toEqual(["The command exited with code 0.\nout", expect.stringContaining("may not be run")]);
  });

  test("runs if it is granted, and its output and exit code are told", async () => {
    const { told } = await called([["run_command", { command: "echo out; echo err >&2; exit 3" }]], GRANTED);
    expect(told[0]).toContain("exited with code 3");
    expect(told[0]).toMatch(/out\nerr|err\nout/);
  });

  test("is asked about otherwise, with the whole line, and its denial is told", async () => {
    const asked: PermissionRequest[] = [];
    const permit = (request: PermissionRequest) => {
      asked.push(request);
      return asked.length === 1 ? { granted: true } : { granted: false, notes: "Not tonight." };
    };
    const { told, directory } = await called(
      [
        ["run_command", { command: "touch made" }],
        ["run_command", { command: "touch denied" }],
      ],
      { permit },
    );
    expect(asked.map(({ action }) => action)).toEqual(["run: touch made", "run: touch denied"]);
    expect(existsSync(join(directory, "made"))).toBe(true);
    expect(existsSync(join(directory, "denied"))).toBe(false);
    expect(told[1]).toContain("Not tonight.");
  });

  test("waits for a person longer than the turn may take", async () => {
    const { told } = await called([["run_command", { command: "echo ran" }]], {
      request: { timeout_ms: 500 },
      permit: async () => {
        await delay(800);
        return { granted: true };
      },
    });
    expect(told[0]).toContain("ran");
  });

  test("does not see the model's key, and leaves no process behind", async () => {
    const mark = `600.${process.pid}`;
    const { told } = await called([["run_command", { command: `env; sleep ${mark} & echo on` }]], GRANTED);
    expect(told[0]).toContain("BOSUN_TURN_ID=t7");
    expect(told[0]).not.toContain(KEY);
    expect(livingWith(`sleep ${mark}`)).toEqual([]);
  });

  test("ends when its time is up, and tells what it printed", async () => {
    const { told } = await called([["run_command", { command: "echo before; sleep 600", timeout_s: 1 }]], GRANTED);
    expect(told[0]).toMatch(/was ended after 1 s[\s\S]*before/);
  });

  test("with a huge output is told by its end", async () => {
    const { told } = await called([["run_command", { command: "seq 1 100000" }]], GRANTED);
    expect(told[0]).toMatch(/\[only the end of its output\][\s\S]*\n100000$/);
    expect(told[0]?.length).toBeLessThan(40_000);
  });

  test("within a sandbox of files needs no permission: it runs there, or not at all", async () => {
    const outside = scratchDirectory();
    let asked = 0;
    const { told } = await called([["run_command", { command: `touch ${outside}/x` }]], {
      role: { sandbox: "files" },
      permit: () => ({ granted: (asked += 1) > 0 }),
    });
    expect(asked).toBe(0);
    expect(told[0]).toMatch(/exited with code [1-9]|sandbox "files"/);
    expect(existsSync(join(outside, "x"))).toBe(false);
  });
});

describe("tools that are called wrongly", () => {
  test("tell the model what is wrong, and the turn goes on", async () => {
    const { told } = await called([
      ["delete_everything", {}],
      ["read_file", {}],
      ["write_file", { content: "x" }],
      ["read_file", { path: 7 }],
    ]);
    expect(told[0]).toContain('There is no tool "delete_everything"');
    expect(told.slice(1)).toEqual([
      expect.stringContaining("is no file"),
      expect.stringContaining("path is missing"),
      expect.stringContaining("is no file"),
    ]);
  });

  test("end the turn when the same call fails again and again", async () => {
    const rig = await ModelRig.open(({ tools, messages }) =>
      messages.filter(({ from }) => from === "tool").length > 9 || tools.length === 0
        ? { answer: report("gave up") as never }
        : { act: [{ tool: "read_file", input: { path: "none" } }] },
    );
    await rig.turn();
    expect(rig.server.exchanges.length).toBeLessThan(9);
  });
});

describe("MCP servers", () => {
  const SERVER = join(import.meta.dirname, "../../fixtures/mcp/server.mjs");
  const server = (...how: string[]) => ({ command: [process.execPath, SERVER, ...how] });
  const withServers = (mcp_servers: NonNullable<Role["mcp_servers"]>) => ({ role: { tools: [], mcp_servers } });

  test("give a model their tools, with their results and errors, and without its key", async () => {
    const { told } = await called(
      [
        ["rows__environment", {}],
        ["rows__fail", {}],
        ["rows__huge", {}],
      ],
      withServers({ rows: { ...server("noise"), env: { GIVEN: "yes" } } }),
    );
    expect(told[0]).toContain('"GIVEN":"yes"');
    expect(told[0]).not.toContain(KEY);
    expect(told[1]).toContain("There is no such row.");
    expect(told[2]).toContain("[cut: the first 262144 of 1000000 bytes]");
  });

  test("that leave in a call fail that call, and the turn goes on", async () => {
    const { told } = await called([["rows__leave", {}]], withServers({ rows: server() }));
    expect(told[0]).toMatch(/closed|exited|Connection/i);
  });

  test("offer only the tools that the role names", async () => {
    const rig = await ModelRig.open(scripted({ answer: report() as never }));
    await rig.turn(withServers({ rows: { ...server(), tools: ["fail"] } }));
    expect(rig.server.exchanges[0]?.conversation?.tools.map(({ name }) => name)).toEqual(["rows__fail"]);
  });

  test("that cannot start, end at once, or lack a tool have none, and the model and people are told", async () => {
    const rig = await ModelRig.open(scripted({ answer: report() as never }));
    const { result, lines } = await rig.turn(
      withServers({
        none: { command: ["no-such-program"] },
        ends: { command: ["sh", "-c", "echo 'no database' >&2; exit 1"] },
        lacks: { ...server(), tools: ["vote"] },
      }),
    );
    expect(result.answer?.payload_type).toBe("report");
    const told = rig.server.exchanges[0]?.conversation?.messages[0]?.text ?? "";
    for (const words of ["no-such-program", "no database", "vote"]) {
      expect(told).toContain(words);
      expect(lines.join("\n")).toContain(words);
    }
  });

  test("are gone when the turn is over, even one that ignores SIGTERM", async () => {
    const mark = `deaf-${process.pid}`;
    await called([["rows__fail", {}]], withServers({ rows: server("deaf", mark) }));
    expect(livingWith(mark)).toEqual([]);
  });
});
