import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { plainCommand } from "../../src/agents/cli/dialects/codex-items.ts";
import { DECIDED_HERE } from "../../src/agents/permissions/decision.ts";
import { areWithin, mayBeWritten } from "../../src/agents/permissions/places.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { isAllowedCommand } from "../../src/protocol/allowed-commands.ts";
import type { Permissions } from "../../src/protocol/roles.ts";
import { change, command, edit, gemini, place, run, type Speaker, turn, use } from "./asking-program.ts";

/** What is granted unasked, and what is not, of what each dialect leaves to Bosun. */
const GRANTED: [string, Speaker, Permissions, JsonObject, boolean][] = [
  // run
  ["a named command", "acp", { commands: ["npm test"] }, run("npm test"), true],
  ["a described one", "acp", { commands: ["npm test"] }, run("npm test", { description: "x", timeout: 9 }), true],
  ["one in the workspace", "acp", { commands: ["npm test"] }, run("npm test", { cwd: "<w>", workdir: "." }), true],
  ["one with nothing else", "acp", { commands: ["npm test"] }, run("npm test", { env: {}, args: [], x: null }), true],
  ["one elsewhere", "acp", { commands: ["npm test"] }, run("npm test", { cwd: "/tmp" }), false],
  ["one in a folder", "acp", { commands: ["npm test"] }, run("npm test", { dir_path: "src" }), false],
  ["one behind a link", "acp", { commands: ["npm test"] }, run("npm test", { workdir: "docs" }), false],
  ["one with variables", "acp", { commands: ["npm test"] }, run("npm test", { env: { A: "b" } }), false],
  ["one with arguments", "acp", { commands: ["npm test"] }, run("npm test", { args: ["--x"] }), false],
  ["one with rights", "acp", { commands: ["npm test"] }, run("npm test", { sandbox_permissions: "all" }), false],
  ["a list of words", "acp", { commands: ["A tool"] }, { kind: "execute", rawInput: { command: ["rm"] } }, false],
  ["a command as a read", "acp", { commands: [] }, { kind: "read", rawInput: { command: "cat a", path: "a" } }, false],
  ["one of Gemini", "acp", { commands: ["A *"] }, gemini("[current working directory <w>] (Do it)"), true],
  ["one of Gemini in a folder", "acp", { commands: ["A *"] }, gemini("[in src] (Do it)"), false],
  ["one of Gemini elsewhere", "acp", { commands: ["A *"] }, gemini("[in .] (x] (Do it)"), false],
  ["a named command", "codex", { commands: ["npm test"] }, command("npm test"), true],
  ["one elsewhere", "codex", { commands: ["npm test"] }, command("npm test", { cwd: "/tmp" }), false],
  ["one behind a link", "codex", { commands: ["npm test"] }, command("npm test", { cwd: "<w>/docs" }), false],
  ["one on a machine", "codex", { commands: ["npm test"] }, command("npm test", { environmentId: "b" }), false],
  [
    "one of its item",
    "codex",
    { commands: ["npm test"] },
    command("npm test", { cwd: null, item: { cwd: "/" } }),
    false,
  ],
  ["rights", "codex", { commands: ["ls"] }, command("ls", { additionalPermissions: { network: true } }), false],
  ["a host", "codex", { commands: ["ls"] }, command("ls", { networkApprovalContext: { host: "a.b" } }), false],
  ["something newer", "codex", { commands: ["ls"] }, command("ls", { asRoot: true }), false],
  [
    "a named command that is asked for",
    "claude",
    { commands: ["npm test"] },
    use("Bash", { command: "npm test" }),
    false,
  ],
  ["one with a place", "acp", { commands: ["npm test"] }, { ...run("npm test"), locations: [{ path: "/x" }] }, false],
  // read
  ["a file", "acp", {}, { kind: "read", rawInput: { file_path: "<w>/src/a.txt", offset: 1 } }, true],
  ["a file through a link inside", "acp", {}, { kind: "read", rawInput: { path: "code/a.txt" } }, true],
  ["a file through a link outside", "acp", {}, { kind: "read", rawInput: { path: "docs/id_rsa" } }, false],
  ["what dots lead to", "acp", {}, { kind: "read", rawInput: { path: "docs/../secret" } }, false],
  ["git's files", "acp", {}, { kind: "read", rawInput: { path: ".git/config" } }, true],
  ["a process' folder", "acp", {}, { kind: "read", rawInput: { path: "/proc/self/cwd/a.txt" } }, false],
  ["an unknown member", "acp", {}, { kind: "read", rawInput: { path: "a", also: "/etc/passwd" } }, false],
  ["a list in a text", "acp", {}, { kind: "search", rawInput: { glob: "{src,/etc}/*" } }, false],
  ["a name of a member", "acp", {}, { kind: "read", rawInput: { path: "a", files: { "/etc/passwd": 1 } } }, false],
  ["a variable", "acp", {}, { kind: "read", rawInput: { path: "$HOME/.ssh/id_rsa" } }, false],
  [
    "a helper's prompt",
    "acp",
    {},
    { kind: "think", rawInput: { prompt: "/review the code", description: "/x" } },
    true,
  ],
  [
    "a place that was told before",
    "acp",
    {},
    { kind: "edit", rawInput: { path: "a" }, before: edit({}, "<base>/outside/x") },
    false,
  ],
  // write
  ["a new file", "acp", {}, edit({ file_path: "<w>/new/a.txt", content: "/etc/passwd" }), true],
  ["code", "acp", {}, edit({ path: "a.ts", old_string: "// ../../x", new_string: "/* ~ */\n/etc/x" }), true],
  ["an artifact", "acp", {}, edit({ path: "<base>/artifacts/a.txt" }), true],
  ["a patch", "acp", {}, edit({ path: "a.txt", diff: "--- a.txt\n+++ a.txt\n@@\n+/etc" }), true],
  ["a patch of a new file", "acp", {}, edit({ path: "a.txt", patch: "--- /dev/null\n+++ b/a.txt\n+x" }), true],
  ["a patch of another file", "acp", {}, edit({ path: "a", diff: "*** Update File: ../x\n+y" }), false],
  ["a file outside", "acp", {}, edit({ filename: "<base>/outside/x" }, "a.txt"), false],
  ["a dangling link", "acp", {}, edit({ path: "dangling" }), false],
  ["a list of lines", "acp", {}, edit({ path: "a", more: "b\n../x" }), false],
  ["a move out", "acp", {}, { ...edit({ from: "a.txt", to: "../x" }, "a.txt"), kind: "move" }, false],
  ["a member with an address", "acp", {}, edit({ path: "a.txt", at: "file:x" }), false],
  ["a role that only reads", "acp", { write: "none" }, edit({ path: "a.txt" }), false],
  ["a change", "codex", {}, change("<w>/a.txt"), false],
  ["a change", "claude", {}, use("Write", { file_path: "<w>/a.txt", content: "x" }), false],
  // protected
  ["a hook", "acp", {}, edit({ path: ".git/hooks/pre-commit" }), false],
  ["a hook through a link", "acp", {}, edit({ path: "hooks/pre-commit" }), false],
  ["a hook of a repository below", "acp", {}, edit({ path: "sub/.git/hooks/x" }), false],
  ["a hook in capitals", "acp", {}, edit({ path: "<w>/.GIT/hooks/x" }), false],
  ["git's folder itself", "acp", {}, { ...edit({}, "<w>/.git"), kind: "delete" }, false],
  ["Bosun's roles", "acp", {}, edit({ path: ".bosun/roles.yaml" }), false],
  ["a name that only begins so", "acp", {}, edit({ path: ".gitignore" }), true],
  // fetch
  ["a page", "acp", { network: true }, { kind: "fetch", rawInput: { url: "https://a.b/c" } }, true],
  ["a page", "acp", {}, { kind: "fetch", rawInput: { url: "https://a.b/c" } }, false],
  ["a file by its address", "acp", { network: true }, { kind: "fetch", rawInput: { url: "file:///etc/x" } }, false],
  // other
  ["another tool", "acp", { network: true }, { kind: "other", rawInput: { a: 1 } }, false],
];

describe("what Bosun is asked for", () => {
  /** One turn asks for everything of one dialect and role. */
  const turns = new Map<string, ReturnType<typeof turn>>();
  const rowsLike = (speaker: Speaker, permissions: Permissions) =>
    GRANTED.filter((row) => row[1] === speaker && JSON.stringify(row[2]) === JSON.stringify(permissions));

  test.each(GRANTED)(
    "%s by %s with %j: %j is granted unasked: %s",
    async (_, speaker, permissions, wanted, granted) => {
      const rows = rowsLike(speaker, permissions);
      const key = JSON.stringify([speaker, permissions]);
      const calls = rows.map(([, , , call]) => call);
      if (!turns.has(key)) turns.set(key, turn(speaker, { ask: "user", ...permissions }, calls));
      const { replies, asked } = (await turns.get(key)) ?? { replies: [], asked: [] };
      expect(replies[calls.indexOf(wanted)]).toBe(granted);
      expect(asked).toHaveLength(rows.filter(([, , , , isGranted]) => !isGranted).length);
    },
  );

  test.each<[Speaker, JsonObject]>([
    ["acp", run("npm test", { cwd: "/tmp" })],
    ["codex", command("npm test", { cwd: "/tmp" })],
    ["claude", use("Bash", { command: "npm test" })],
  ])("is granted to %s when a person says so", async (speaker, call) => {
    expect((await turn(speaker, { ask: "user" }, [call], { grants: true })).replies).toEqual([true]);
  });

  test("is compared alike where the workspace is reached through a link", async () => {
    const calls = [run("npm test", { cwd: "<w>" }), edit({ path: "<w>/a.txt" }), edit({ path: "<base>/alias/b" })];
    const outside = edit({ path: "../outside/x" });
    const { replies } = await turn("acp", { commands: ["npm test"] }, [...calls, outside], { alias: true });
    expect(replies).toEqual([true, true, true, false]);
  });

  test("does not lead through /proc, where each process finds another folder", () => {
    const { workspace } = place();
    const here = openSync(workspace, "r");
    onTestFinished(() => closeSync(here));
    expect(areWithin([`/proc/self/fd/${here}/a.txt`], [workspace], workspace)).toBe(false);
  });

  test("is not written unasked to git's directory, wherever that is", () => {
    const { workspace } = place();
    rmSync(join(workspace, ".git"), { recursive: true });
    mkdirSync(join(workspace, "meta"));
    writeFileSync(join(workspace, "meta/HEAD"), "ref: refs/heads/main\n");
    expect(mayBeWritten(["meta/config"], [workspace], workspace)).toBe(true);
    writeFileSync(join(workspace, ".git"), "gitdir: meta\n");
    expect(mayBeWritten(["meta/config"], [workspace], workspace)).toBe(false);
    expect(mayBeWritten([".git"], [workspace], workspace)).toBe(false);
    expect(mayBeWritten(["metadata"], [workspace], workspace)).toBe(true);
  });

  test("is denied without a question for the network that the role denies", async () => {
    const { replies, asked } = await turn("acp", { network: false }, [{ kind: "fetch", rawInput: { url: "a" } }]);
    expect([replies, asked]).toEqual([[false], []]);
  });

  test("is not followed where no end of it is near", async () => {
    const many = edit({ path: "a", all: Array.from({ length: 201 }, (_, index) => `f${index}`) });
    const long = edit({ path: "a/".repeat(2_100) });
    const deep = edit({ path: `${"a/".repeat(300)}b` });
    const spaces = edit({ path: "a", also: " ".repeat(1_000_000) });
    const { replies } = await turn("acp", {}, [many, long, deep, spaces]);
    expect(replies).toEqual([false, false, false, false]);
  });
});

describe("what a person is shown, and the digest covers", () => {
  test.each<[Speaker, JsonObject, string[]]>([
    ["acp", run("npm test", { cwd: "/tmp", env: { A: "b" } }), ["run: npm test\n", '"cwd": "/tmp"', '"A": "b"']],
    ["acp", gemini("[in src] (Do it)"), ["run: A tool\n", "[in src]"]],
    ["acp", edit({ path: "docs/x" }), ["write: docs/x\n", '"docs/x": "<base>/outside/x"']],
    ["acp", { kind: "read", rawInput: { id: 7 }, locations: [{ path: "/etc/x" }] }, ["use: A tool\n", '"/etc/x"']],
    ["acp", { ...run("ls"), locations: [{ path: "/etc" }] }, ["run: ls\n", '"/etc"']],
    ["codex", command("npm test", { cwd: "/tmp/evil" }), ["run: npm test\n", '"cwd": "/tmp/evil"']],
    ["codex", command("ls", { additionalPermissions: { network: true } }), ["run: ls\n", '"network": true']],
    ["codex", command("y", { kind: "writeStdin" }), ["type: y\n", "writeStdin"]],
    [
      "codex",
      command("curl a.b", { networkApprovalContext: { host: "a.b", protocol: "http" } }),
      ["network: a.b\n", "curl a.b", '"protocol": "http"'],
    ],
    [
      "codex",
      change("<w>/docs/x", { grantRoot: "/GRANTED" }),
      ["write: docs/x, everything below /GRANTED\n", "+x", '"grantRoot": "/GRANTED"', '"docs/x": "<base>/outside/x"'],
    ],
    [
      "codex",
      { about: "permissions", cwd: "/tmp", permissions: { network: null, fileSystem: { write: ["/etc"] }, newer: 1 } },
      ['access: {"fileSystem":{"write":["/etc"]},"newer":1}\n', '"cwd": "/tmp"'],
    ],
    [
      "claude",
      use("Bash", { command: "npm test", dangerouslyDisableSandbox: true, run_in_background: true }),
      ["run: npm test\n", '"dangerouslyDisableSandbox": true', '"run_in_background": true'],
    ],
    ["claude", use("Write", { file_path: "<w>/docs/x", content: "hi" }), ["write: docs/x\nhi\n", "<base>/outside/x"]],
    ["claude", use("Edit", { file_path: "<w>/a", old_string: "b", new_string: "c", newer: 1 }), ['"newer": 1', '"b"']],
    [
      "claude",
      use("Read", { file_path: "<w>/docs/x", newer: 1 }),
      ["read: docs/x\n", "<base>/outside/x", '"newer": 1'],
    ],
    ["claude", use("WebFetch", { url: "http://a.b", prompt: "x", newer: 1 }), ["fetch: http://a.b\n", '"newer": 1']],
    ["claude", use("mcp__a__b", { deep: { er: 1 } }), ['use: mcp__a__b {"deep":{"er":1}}']],
  ])("of %s: %j", async (speaker, call, parts) => {
    const { shown } = await turn(speaker, { ask: "user" }, [call]);
    expect(shown).toHaveLength(1);
    for (const part of parts) expect(shown[0]).toContain(part);
  });

  test.each<[Speaker, JsonObject]>([
    ["acp", run("npm test", { description: "x", timeout: 5, cwd: "<w>" })],
    ["codex", command("npm test")],
    ["claude", use("Bash", { command: "npm test", description: "x", timeout: 5, run_in_background: false })],
  ])("is no more than the command for a plain one of %s: %j", async (speaker, call) => {
    const { asked } = await turn(speaker, { ask: "user" }, [call]);
    expect(asked).toMatchObject([{ action: "run: npm test" }]);
    expect(asked[0]).not.toHaveProperty("details");
  });

  test("is what codex is granted: everything that was asked, for one turn", async () => {
    const permissions = { network: { enabled: true }, fileSystem: { write: ["/etc"] } };
    const asked = { about: "permissions", permissions, suggestedScope: "session" };
    expect((await turn("codex", { ask: "user" }, [asked], { grants: true })).replies).toEqual([permissions]);
    expect((await turn("codex", { ask: "user" }, [asked])).replies).toEqual([{}]);
  });
});

describe("what a program is told where Bosun is not asked", () => {
  const permissions = { commands: ["npm test"], network: false, ask: "deny" } as const;

  test("claude has its rules, and its commands begin in the workspace", async () => {
    const { argv, folder } = await turn("claude", permissions, []);
    expect(argv).toEqual(
      expect.arrayContaining([
        ...["--permission-mode=acceptEdits", "--allowedTools=Bash(npm test)", "--disallowedTools=WebFetch"],
        "--disallowedTools=Edit(**/.bosun/**)",
      ]),
    );
    expect(folder).toBe("1");
    const reader = await turn("claude", { ...permissions, write: "none" }, []);
    expect(reader.argv).toEqual(expect.arrayContaining(["--permission-mode=default", "--disallowedTools=Edit"]));
  });

  test("codex has its sandbox, which is open to git's folder only for a role that may use git", async () => {
    const { argv, base } = await turn("codex", { write: "workspace", network: false, ask: "deny" }, []);
    expect(argv).toEqual(expect.arrayContaining(["-s", "workspace-write"]));
    expect(argv).toContain(`sandbox_workspace_write.writable_roots=${JSON.stringify([join(base, "artifacts")])}`);
    expect(argv).toContain("sandbox_workspace_write.network_access=false");
    expect((await turn("codex", { write: "none", ask: "deny" }, [])).argv).toContain("read-only");
    const git = await turn("codex", { commands: ["git commit"] }, []);
    expect(git.argv.join(" ")).toContain(join(git.workspace, ".git"));
  });

  test("opencode has its rules", async () => {
    const { rules } = await turn("opencode", permissions, []);
    expect(rules).toMatchObject({
      bash: { "*": "deny", "npm test": "allow" },
      edit: { "*": "allow", ".git/*": "deny", "*/.git/*": "deny", ".bosun/*": "deny", "*/.bosun/*": "deny" },
      external_directory: { "*": "deny" },
      webfetch: "deny",
    });
  });

  test("a program that speaks envelopes is told nothing", async () => {
    const { request, argv, rules } = await turn("envelope", permissions, []);
    expect(JSON.stringify([request, argv, rules])).not.toContain("npm test");
  });
});

test("docs/agents/permissions.md says what Bosun decides", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/agents/permissions.md"), "utf8");
  const rows = [...page.matchAll(/^\| ([^|]+) \| (\w+) \| Bosun \| [^|]+ \|$/gm)].map(
    ([, kind, dialect]) => `${dialect}: ${kind}`,
  );
  const decided = Object.entries(DECIDED_HERE).flatMap(([dialect, kinds]) =>
    kinds.map((kind) => `${dialect}: ${kind}`),
  );
  expect(rows.toSorted()).toEqual(decided.toSorted());
});

test.each([
  ["touch a", true],
  ["touchy", false],
  ["touch a; rm -r b", false],
  ["touch $(rm -r b)", false],
  // Codex wraps commands in a shell of the system. Another shell can be any program.
  ["/bin/bash -lc 'touch a'", true],
  ["/usr/bin/zsh -c 'touch a'", true],
  ["/workspace/.x/bash -lc 'touch a'", false],
  ["./bin/sh -c 'touch a'", false],
  ["bash -lc 'touch a'", false],
])("with `touch *`, the command %s is allowed: %s", (command, isAllowed) => {
  expect(isAllowedCommand(plainCommand(command), ["touch *"])).toBe(isAllowed);
});
