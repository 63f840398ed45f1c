import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { built } from "../built.ts";
import { fakePrograms } from "./fake-programs.ts";
import { typed } from "./in-process.ts";
import { rig } from "./rig.ts";
import { open } from "./terminal.ts";

const PROGRAMS = { codex: { version: "0.169.0" }, claude: { version: "2.1.331" } };

describe("bosun init", () => {
  it("writes the installed crew, which runs once it is trusted, until a file changes", async () => {
    const here = rig();
    const path = fakePrograms(here, PROGRAMS);
    const first = await typed(here, ["init"], path);
    expect([first.code, first.stdout]).toEqual([
      0,
      expect.stringMatching(/codex-claude[^]*no git repository[^]*trust/),
    ]);
    expect((await typed(here, ["roles"], path)).code).toBe(3);
    expect((await typed(here, ["trust"], path)).code).toBe(4);
    const trusted = await typed(here, ["trust", "--yes"], path);
    expect([trusted.code, trusted.stdout]).toEqual([0, expect.stringContaining('worker_claude runs ["claude"]')]);
    expect((await typed(here, ["roles"], path)).stdout).toMatch(/manager_codex[^]*worker_claude/);
    const file = join(here.workspace, ".bosun", "roles.yaml");
    writeFileSync(file, `${readFileSync(file, "utf8")}# changed\n`);
    expect((await typed(here, ["roles"], path)).code).toBe(3);
  });

  it("proposes the project's own commands, writes those that the person takes, trusts the files and commits them", async () => {
    const here = rig();
    const path = fakePrograms(here, PROGRAMS);
    const git = (...words: string[]) => execFileSync("git", words, { cwd: here.workspace, encoding: "utf8", env });
    const env = { ...here.environment, ...path };
    git("init", "--quiet");
    git("config", "user.name", "Ada");
    git("config", "user.email", "ada@example.org");
    const scripts = { test: "vitest", build: "tsc", lint: "oxlint", deploy: "rm -rf /" };
    writeFileSync(join(here.workspace, "package.json"), JSON.stringify({ scripts }));
    const pane = open(here, ["init"], path);
    await pane.asks("and trust them?");
    expect(pane.screen()).toContain("npm test, npm run build, npm run lint: workers may run these");
    pane.type("4", "Enter");
    await pane.asks("Commands, with commas");
    pane.type("npm test && reboot", "Enter");
    await pane.asks("and trust them?", 2);
    expect(pane.screen()).toContain('"npm test && reboot" is no single command');
    pane.type("4", "Enter");
    await pane.asks("Commands, with commas", 2);
    pane.type("npm test, npm run lint", "Enter");
    await pane.asks("and trust them?", 3);
    pane.type("1", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(git("status", "--porcelain")).toBe("?? package.json\n");
    const listed = (await typed(here, ["config", "--json"], path)).stdout;
    expect(JSON.parse(listed)).toMatchObject({
      settings: expect.arrayContaining([
        expect.objectContaining({ key: "allowed_commands", value: ["npm test", "npm run lint"] }),
      ]) as unknown,
    });
  });

  it("has git ignore the folder in this clone", async () => {
    const here = rig();
    execFileSync("git", ["init", "--quiet"], { cwd: here.workspace });
    const pane = open(here, ["init", "--crew", "embedded"]);
    await pane.asks("and trust them?");
    pane.type("2", "Enter");
    expect(await pane.exit()).toBe(0);
    expect(execFileSync("git", ["status", "--porcelain"], { cwd: here.workspace, encoding: "utf8" })).toBe("");
  });

  it("breaks its lines between words", async () => {
    const here = rig();
    const pane = open(here, ["init", "--crew", "embedded"], {}, 60);
    await pane.asks("and trust them?");
    expect(pane.screen()).toMatch(
      /^git {6}This folder is in no git repository: what agents\n {9}change cannot be undone\.$/m,
    );
    expect(pane.screen()).toMatch(
      /scheduler_config\.yaml,\nand trust them\?$[^]*^ {2}2 {2}Choose [^]*without\n {5}asking$/m,
    );
    pane.type("C-c");
    expect(await pane.exit()).not.toBe(0);
  });

  it("trusts what it writes with --yes, but nothing that was there before", async () => {
    const here = rig();
    const path = fakePrograms(here, PROGRAMS);
    expect((await typed(here, ["init", "--yes"], path)).stdout).toContain("trusted");
    expect((await typed(here, ["roles"], path)).code).toBe(0);
    const other = rig();
    other.write(
      "workspace/.bosun/roles.json",
      '{"roles": [{"role_id": "evil", "type": "worker", "cli_command": ["sh"]}]}',
    );
    const left = await typed(other, ["init", "--yes"], path);
    expect([left.code, left.stdout]).toEqual([0, expect.not.stringContaining("trusted")]);
    expect((await typed(other, ["roles"], path)).code).toBe(3);
    const prompted = rig();
    prompted.write("workspace/.bosun/prompts/turn.md", "Obey.");
    await typed(prompted, ["init", "--yes"], path);
    expect((await typed(prompted, ["roles"], path)).code).toBe(3);
  });

  it("is not trusted if a file changes after its powers are shown", async () => {
    const here = rig();
    const path = fakePrograms(here, PROGRAMS);
    await typed(here, ["init"], path);
    const file = join(here.workspace, ".bosun", "roles.yaml");
    const changed = await typed(here, ["trust", "--yes"], path, (line) => {
      if (line.includes("worker_claude runs")) writeFileSync(file, `${readFileSync(file, "utf8")}# changed\n`);
    });
    expect([changed.code, changed.stderr]).toEqual([3, expect.stringMatching(/has changed[^]*bosun trust/)]);
    expect((await typed(here, ["roles"], path)).code).toBe(3);
    expect((await typed(here, ["trust", "--yes"], path)).code).toBe(0);
  });

  it("is not trusted by a list that others may write, and trusting it again makes the list the person's own", async () => {
    const here = rig();
    const path = fakePrograms(here, PROGRAMS);
    for (const words of [["init"], ["trust", "--yes"]]) expect((await typed(here, words, path)).code).toBe(0);
    expect((await typed(here, ["roles"], path)).code).toBe(0);
    const list = join(here.environment.XDG_STATE_HOME ?? "", "bosun", "trusted");
    chmodSync(list, 0o666);
    appendFileSync(list, 'sha256:00 "/of/a/stranger"\n');
    expect((await typed(here, ["roles"], path)).code).toBe(3);
    expect((await typed(here, ["trust", "--yes"], path)).code).toBe(0);
    expect((await typed(here, ["roles"], path)).code).toBe(0);
    expect([statSync(list).mode & 0o777, readFileSync(list, "utf8")]).toEqual([
      0o600,
      expect.not.stringContaining("stranger"),
    ]);
  });

  it("leaves existing files, in any format, and says which", async () => {
    const here = rig();
    const path = fakePrograms(here, {});
    const roles = here.write("workspace/.bosun/roles.json", '{"roles": []}');
    const { code, stdout } = await typed(here, ["init", "--crew", "embedded"], path);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/left\s+\.bosun\/roles\.json/)]);
    expect(readFileSync(roles, "utf8")).toBe('{"roles": []}');
    expect(existsSync(join(here.workspace, ".bosun", "roles.yaml"))).toBe(false);
    expect(existsSync(join(here.workspace, ".bosun", "scheduler_config.yaml"))).toBe(true);
  });

  it.each([
    ["the folder is a link", "trust", (folder: string, own: string) => symlinkSync(own, folder)],
    [
      "the folder is a link to nothing",
      "cannot be written",
      (folder: string, own: string) => symlinkSync(join(own, "no"), folder),
    ],
    [
      "one file is a link",
      "trust",
      (folder: string, own: string) => {
        mkdirSync(folder);
        symlinkSync(join(own, "roles.yaml"), join(folder, "scheduler_config.yaml"));
      },
    ],
  ])("writes nothing where %s", async (_, why, place) => {
    const here = rig();
    const own = join(here.environment["XDG_CONFIG_HOME"] ?? "", "bosun");
    mkdirSync(own, { recursive: true });
    place(join(here.workspace, ".bosun"), own);
    const { code, stderr } = await typed(here, ["init", "--crew", "embedded"]);
    expect([code, stderr]).toEqual([3, expect.stringContaining(why)]);
    expect(readdirSync(own)).toEqual([]);
    expect(existsSync(join(here.workspace, ".bosun", "roles.yaml"))).toBe(false);
  });

  it("writes the entry for MCP clients only if it is asked to, and never over one", async () => {
    const here = rig();
    const entry = join(here.workspace, ".mcp.json");
    expect((await typed(here, ["init", "--crew", "embedded", "--yes"])).code).toBe(0);
    expect(existsSync(entry)).toBe(false);
    const { code, stdout } = await typed(here, ["init", "--crew", "embedded", "--mcp"]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/written +\.mcp\.json/)]);
    expect(JSON.parse(readFileSync(entry, "utf8"))).toEqual({
      mcpServers: { bosun: { command: "bosun", args: ["mcp"] } },
    });
    writeFileSync(entry, '{"mcpServers": {}}');
    const again = await typed(here, ["init", "--crew", "embedded", "--mcp"]);
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringMatching(/left +\.mcp\.json[^]*Add to \.mcp\.json: "bosun": \{"command": "bosun"/),
    ]);
    expect(readFileSync(entry, "utf8")).toBe('{"mcpServers": {}}');
  });

  it("asks before it writes the entry, too", async () => {
    const here = rig();
    const pane = open(here, ["init", "--crew", "embedded", "--mcp"]);
    await pane.asks("and .mcp.json, and trust them?");
    pane.type("3", "Enter");
    expect(await pane.exit()).toBe(1);
    expect(readdirSync(here.workspace)).toEqual([]);
  });

  it("leaves no half of a file where the disk has no room", () => {
    const here = rig();
    const [node, cli] = [process.execPath, built("cli.js")];
    // The limit is less than the second file, in blocks of 512 bytes.
    const script = `trap "" XFSZ; ulimit -f 1; exec '${node}' '${cli}' init --crew embedded --yes`;
    const { status, stderr } = spawnSync("sh", ["-c", script], {
      cwd: here.workspace,
      env: here.environment,
      encoding: "utf8",
    });
    expect([status, stderr]).toEqual([3, expect.stringContaining("EFBIG")]);
    expect(readdirSync(join(here.workspace, ".bosun"))).toEqual([]);
  });

  it("writes no path of this machine for the embedded crew, and refuses an unknown crew", async () => {
    const here = rig();
    const path = fakePrograms(here, {});
    expect((await typed(here, ["init", "--crew", "no-such"], path)).code).toBe(2);
    expect(existsSync(join(here.workspace, ".bosun"))).toBe(false);
    expect((await typed(here, ["init"], path)).stdout).toContain("embedded");
    expect(readFileSync(join(here.workspace, ".bosun", "roles.yaml"), "utf8")).toContain("${crew.playbook}");
  });
});
