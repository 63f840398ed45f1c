import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Git, gitIn } from "../../src/lib/git.ts";

type Command = Parameters<Git>[1];

/** A repository with one commit, beside the file that its traps make. */
interface Place {
  readonly repository: string;
  readonly trap: string;
  /** A shell command that makes the file, then copies its input. */
  readonly spring: string;
  readonly environment: NodeJS.ProcessEnv;
  write(name: string, content: string | Buffer): string;
  config(text: string): void;
  git(...words: string[]): string;
}

function place(): Place {
  const directory = mkdtempSync(join(tmpdir(), "bosun-git-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const repository = join(directory, "repository");
  mkdirSync(repository);
  const trap = join(directory, "sprung");
  const environment = {
    PATH: process.env["PATH"],
    HOME: directory,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_COUNT: "2",
    GIT_CONFIG_KEY_0: "user.name",
    GIT_CONFIG_VALUE_0: "t",
    GIT_CONFIG_KEY_1: "user.email",
    GIT_CONFIG_VALUE_1: "t@example.org",
  };
  const at: Place = {
    repository,
    trap,
    spring: `touch ${trap}; cat`,
    environment,
    write(name, content) {
      const file = join(repository, name);
      writeFileSync(file, content);
      return file;
    },
    config: (text) => appendFileSync(join(repository, ".git/config"), text),
    git(...words) {
      const ran = spawnSync("git", words, { cwd: repository, env: environment, encoding: "utf8", timeout: 20_000 });
      return ran.stdout + ran.stderr;
    },
  };
  at.git("init", "-q");
  at.write("a.txt", "a\n");
  at.git("add", ".");
  at.git("commit", "-qm", "one");
  mkdirSync(join(repository, ".git/info"), { recursive: true });
  // Git wants to look into a file with another time.
  utimesSync(join(repository, "a.txt"), 2e9, 2e9);
  return at;
}

function filtered(at: Place, name = "x") {
  writeFileSync(join(at.repository, ".git/info/attributes"), `* filter=${name}\n`);
}

const STATUS: Command = ["status", "--porcelain"];

/** Each makes a repository in which plain git springs the trap with the command. */
const TRAPS: Readonly<Record<string, readonly [set: (at: Place) => void, command: Command]>> = {
  "a filter": [
    (at) => {
      filtered(at);
      at.config(`[filter "x"]\n\tclean = "${at.spring}"\n`);
    },
    STATUS,
  ],
  "a filter that must not be missing": [
    (at) => {
      filtered(at);
      at.config(`[filter "x"]\n\tprocess = "${at.spring}"\n\trequired\n`);
    },
    STATUS,
  ],
  "a filter with an odd name": [
    (at) => {
      filtered(at, "Ä.b.clean");
      at.config(`[Filter "Ä.b.clean"]\n\tCLEAN = "${at.spring}"\n`);
    },
    STATUS,
  ],
  "a filter of an included file": [
    (at) => {
      filtered(at);
      writeFileSync(join(at.repository, "../more"), `[filter "x"]\n\tclean = "${at.spring}"\n`);
      at.config(`[includeIf "gitdir:${at.repository}/"]\n\tpath = ../../more\n`);
    },
    STATUS,
  ],
  "a filter of a branch": [
    (at) => {
      filtered(at);
      writeFileSync(join(at.repository, "../more"), `[filter "x"]\n\tclean = "${at.spring}"\n`);
      at.config(`[includeIf "onbranch:**"]\n\tpath = ../../more\n`);
    },
    STATUS,
  ],
  "a filter of a work tree": [
    (at) => {
      filtered(at);
      at.config("[extensions]\n\tworktreeConfig = true\n");
      writeFileSync(join(at.repository, ".git/config.worktree"), `[filter "x"]\n\tclean = "${at.spring}"\n`);
    },
    STATUS,
  ],
  "a filter of a submodule": [
    (at) => {
      cpSync(at.repository, join(at.repository, "../other"), { recursive: true });
      at.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../other", "sub");
      at.git("commit", "-qm", "two");
      const inside = { ...at, repository: join(at.repository, "sub") };
      const own = join(at.repository, ".git/modules/sub");
      mkdirSync(join(own, "info"), { recursive: true });
      writeFileSync(join(own, "info/attributes"), "* filter=x\n");
      appendFileSync(join(own, "config"), `[filter "x"]\n\tclean = "${at.spring}"\n`);
      utimesSync(join(inside.repository, "a.txt"), 1e9, 1e9);
      rmSync(at.trap, { force: true });
    },
    STATUS,
  ],
  "a monitor": [(at) => at.config(`[core]\n\tfsmonitor = "${at.spring}"\n`), STATUS],
  "a hook": [
    (at) => {
      const hooks = join(at.repository, ".git/hooks");
      mkdirSync(hooks, { recursive: true });
      writeFileSync(join(hooks, "post-index-change"), `#!/bin/sh\n${at.spring}\n`, { mode: 0o755 });
    },
    ["add", "."],
  ],
  "a hook of another folder": [
    (at) => {
      writeFileSync(join(at.repository, "post-index-change"), `#!/bin/sh\n${at.spring}\n`, { mode: 0o755 });
      at.config(`[core]\n\thooksPath = ${at.repository}\n`);
    },
    ["add", "."],
  ],
  "a text converter": [
    (at) => {
      at.write(".gitattributes", "*.txt diff=x\n");
      at.config(`[diff "x"]\n\ttextconv = "${at.spring} <"\n`);
    },
    ["log", "-p"],
  ],
  "a remote of a partial clone": [
    (at) => {
      const objects = join(at.repository, ".git/objects");
      const blob = at.git("rev-parse", "HEAD:a.txt").trim();
      rmSync(join(objects, blob.slice(0, 2), blob.slice(2)));
      const url = `ext::touch ${at.trap}`;
      at.config(`[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n`);
      at.config(
        `[remote "origin"]\n\turl = ${JSON.stringify(url)}\n\tpromisor = true\n[protocol "ext"]\n\tallow = always\n`,
      );
    },
    ["log", "--numstat"],
  ],
  "a server program of a partial clone": [
    (at) => {
      const objects = join(at.repository, ".git/objects");
      const blob = at.git("rev-parse", "HEAD:a.txt").trim();
      rmSync(join(objects, blob.slice(0, 2), blob.slice(2)));
      at.config(`[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n`);
      at.config(`[remote "origin"]\n\turl = .\n\tpromisor = true\n\tuploadpack = "touch ${at.trap}; false"\n`);
    },
    ["log", "--numstat"],
  ],
};

/** Runs a command to its end; undefined if git refuses. */
const tried = (at: Place, command: Command, environment = at.environment) =>
  gitIn(environment)(at.repository, command).catch((error: Error) => error);

describe("git of Bosun's own", () => {
  test.for(Object.entries(TRAPS))("does not start %s, which git itself does", async ([title, [set, command]]) => {
    const [plain, ours] = [place(), place()];
    for (const at of [plain, ours]) set(at);
    plain.git(...command);
    expect(existsSync(plain.trap)).toBe(true);
    const answer = await tried(ours, command);
    expect(existsSync(ours.trap)).toBe(false);
    // A missing object is an error.
    expect(answer instanceof Error).toBe(title.includes("partial clone"));
  });

  test.for([
    ["holds the end of a name", Buffer.from("a=b")],
    ["is no UTF-8", Buffer.from([0x61, 0xff])],
  ] as const)("refuses a filter whose name %s, since it cannot be switched off", async ([, name]) => {
    const [plain, ours] = [place(), place()];
    for (const at of [plain, ours]) {
      const file = join(at.repository, ".git/info/attributes");
      writeFileSync(file, Buffer.concat([Buffer.from("* filter="), name, Buffer.from("\n")]));
      const setting = [Buffer.from('[filter "'), name, Buffer.from(`"]\n\tclean = "${at.spring}"\n`)];
      appendFileSync(join(at.repository, ".git/config"), Buffer.concat(setting));
    }
    plain.git(...STATUS);
    expect(existsSync(plain.trap)).toBe(true);
    expect(await tried(ours, STATUS)).toBeInstanceOf(Error);
    expect(existsSync(ours.trap)).toBe(false);
  });

  test("reads the repository's own settings whatever the caller's environment names", async () => {
    const at = place();
    TRAPS["a filter"]?.[0](at);
    const elsewhere = {
      GIT_CONFIG: join(at.repository, "none"),
      GIT_DIR: join(at.repository, "none"),
      GIT_EXTERNAL_DIFF: at.spring,
    };
    expect(await tried(at, STATUS, { ...at.environment, ...elsewhere })).toBe("");
    expect(existsSync(at.trap)).toBe(false);
  });

  test("is not the one that lies in the repository, whatever the PATH", async () => {
    const at = place();
    mkdirSync(join(at.repository, "bin"));
    for (const name of ["git", "bin/git"]) chmodSync(at.write(name, `#!/bin/sh\n${at.spring}\n`), 0o755);
    for (const first of ["", ".", "bin", join(at.repository, "bin"), at.repository]) {
      const PATH = `${first}:${at.environment["PATH"]}`;
      expect(await tried(at, ["rev-parse", "--is-inside-work-tree"], { ...at.environment, PATH })).toBe("true");
    }
    expect(await tried(at, STATUS, { ...at.environment, PATH: "." })).not.toContain("sprung");
    expect(existsSync(at.trap)).toBe(false);
  });

  test("runs filters of a trusted configuration, and in a repository of its own none that are set elsewhere", async () => {
    for (const [configuration, isSprung] of [
      ["anyone's", false],
      ["own", false],
      ["trusted", true],
    ] as const) {
      const at = place();
      const home = join(at.repository, "..");
      writeFileSync(
        join(home, ".gitconfig"),
        `[filter "x"]\n\tclean = "${at.spring}"\n[core]\n\texcludesFile = ${home}/all\n`,
      );
      writeFileSync(join(home, "all"), "*\n");
      filtered(at);
      at.write("new.txt", "new\n");
      const answer = await gitIn(at.environment)(at.repository, STATUS, { configuration });
      expect([configuration, existsSync(at.trap), answer]).toEqual([
        configuration,
        isSprung,
        configuration === "own" ? "?? new.txt" : "",
      ]);
    }
  });

  test("pushes with the programs of the person's own settings, and none of the repository's nor a transport of others", async () => {
    const at = place();
    const [session, used] = [join(at.repository, "../session.git"), join(at.repository, "../used")];
    spawnSync("git", ["clone", "-q", "--bare", at.repository, session], { env: at.environment });
    const script = join(at.repository, "../ssh");
    writeFileSync(script, `#!/bin/sh\necho "$GIT_ASKPASS $*" > ${used}\nexit 1\n`, { mode: 0o755 });
    writeFileSync(
      join(at.repository, "../.gitconfig"),
      `[core]\n\tsshCommand = ${script}\n[credential]\n\thelper = ${script}\n`,
    );
    at.config(
      `[core]\n\tsshCommand = "${at.spring}"\n\thooksPath = ${at.repository}\n[protocol "ext"]\n\tallow = always\n`,
    );
    writeFileSync(join(at.repository, "pre-push"), `#!/bin/sh\n${at.spring}\n`, { mode: 0o755 });
    const git = gitIn({ ...at.environment, GIT_ASKPASS: "ask" });
    const options = { repository: session, configuration: "person's" } as const;
    const push = (url: string, more: object = options) =>
      git(at.repository, ["push", "--", url, "HEAD:refs/heads/a"], more).catch((error: Error) => error.message);
    const server = createServer((_, answer) => answer.writeHead(401, { "WWW-Authenticate": "Basic realm=x" }).end());
    onTestFinished(() => void server.close());
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    const { port } = server.address() as AddressInfo;
    expect(await push(`http://127.0.0.1:${port}/a.git`)).toContain("git push: ");
    expect(readFileSync(used, "utf8")).toMatch(/^\S* get$/m);
    expect(await push("ssh://there/a.git")).toContain("git push: ");
    expect(readFileSync(used, "utf8")).toMatch(/^ask .*there.*receive-pack/);
    expect(await push(`ext::touch ${at.trap}`)).toContain("'ext' not allowed");
    expect(await push("ssh://there/a.git", {})).toContain("'ssh' not allowed");
    expect([await push(session), existsSync(at.trap)]).toEqual(["", false]);
  });

  test("reads what it is given, and takes variables of git", async () => {
    const at = place();
    const git = gitIn(at.environment);
    const file = at.write("given", "HEAD\n");
    const variables = { GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_DATE: "@1 +0000", GIT_COMMITTER_DATE: "@1 +0000" } as const;
    const made = await git(at.repository, ["commit-tree", "HEAD^{tree}"], { input: "a message", variables });
    expect(at.git("log", "-1", "--format=%an %at %s", made)).toBe("Ada 1 a message\n");
    expect(await git(at.repository, ["rev-list", "--count", "--stdin"], { input: { file } })).toBe("1");
  });

  test("clones a folder without running what it holds", async () => {
    const at = place();
    for (const [title, [set]] of Object.entries(TRAPS)) if (!/submodule|partial/.test(title)) set(at);
    const clone = join(at.repository, "../clone");
    rmSync(at.trap, { force: true });
    await gitIn(at.environment)(tmpdir(), [
      "clone",
      "--quiet",
      "--local",
      "--no-hardlinks",
      "--",
      at.repository,
      clone,
    ]);
    expect(readFileSync(join(clone, "a.txt"), "utf8")).toBe("a\n");
    expect(existsSync(at.trap)).toBe(false);
    expect(readdirSync(join(clone, ".git"))).not.toContain("hooks");
  });

  test("clones no partial clone through the program that its remote names", async () => {
    for (const kind of ["a remote of a partial clone", "a server program of a partial clone"]) {
      const at = place();
      TRAPS[kind]?.[0](at);
      const clone = ["clone", "--quiet", "--local", "--", at.repository, join(at.repository, "../clone")] as const;
      await gitIn(at.environment)(tmpdir(), clone).catch(() => {});
      expect(existsSync(at.trap)).toBe(false);
    }
  });

  test.runIf(process.getuid?.() === 0)("refuses a repository of another user", async () => {
    const at = place();
    TRAPS["a filter"]?.[0](at);
    spawnSync("chown", ["-R", "65534:65534", at.repository]);
    expect(await tried(at, STATUS)).toBeInstanceOf(Error);
    expect(existsSync(at.trap)).toBe(false);
  });
});
