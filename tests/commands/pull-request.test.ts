import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { textIn } from "../../src/lib/files.ts";
import { typed } from "./in-process.ts";
import { done, ran, type RepositoryRig, repositoryRig } from "./repository.ts";

interface Hub {
  /** Variables with which `gh` is found, a program that records its words and the bodies that it is given. */
  readonly env: { readonly PATH: string };
  /** What `gh` was asked, one call a line. */
  asked(): string;
  body(): string | undefined;
  /** How many pull requests there are. */
  requests(): number;
  /** What it does, once, instead of opening the next one. */
  instead(shell: string): void;
  /** Git in the remote. */
  git(...words: string[]): string;
}

/** A bare repository as a remote of the person's, and a `gh` that keeps its pull requests in a file. */
function hub(here: RepositoryRig, name = "origin"): Hub {
  const folder = dirname(here.write(`hub/${name}/asked`, ""));
  const remote = join(folder, "remote.git");
  const program = here.write(
    `hub/${name}/bin/gh`,
    `#!/bin/sh
cd ${folder}
printf '<%s> ' "$@" >> asked; echo >> asked
case "$2" in
list) test -e url && echo '[{"url":"'$(tail -n 1 url)'"}]' || echo '[]' ;;
create)
  test ! -e instead || { . ./instead; }
  cat > body
  echo https://github.com/ada/work/pull/$(($(cat url 2>/dev/null | wc -l) + 1)) | tee -a url ;;
esac
`,
  );
  chmodSync(program, 0o755);
  const git = (...words: string[]) =>
    execFileSync("git", ["--git-dir", remote, ...words], { encoding: "utf8", env: here.environment }).trimEnd();
  git("init", "-q", "--bare", remote);
  here.git("remote", "add", name, remote);
  return {
    env: { PATH: `${dirname(program)}:${here.environment["PATH"]}` },
    asked: () => textIn(join(folder, "asked")) ?? "",
    body: () => textIn(join(folder, "body")),
    requests: () => (textIn(join(folder, "url")) ?? "").split("\n").length - 1,
    instead: (shell) => here.write(`hub/${name}/instead`, `rm instead; ${shell}\n`),
    git,
  };
}

const URL = "https://github.com/ada/work/pull/1";

/** All of the person's that a pull request leaves alone: files, HEAD, index, and where other branches are. */
function untouched(here: RepositoryRig): unknown[] {
  const others = (line: string) => !/\trefs\/(?:heads\/)?bosun\/s$/.test(line);
  const index = () => readFileSync(join(here.workspace, ".git/index"), "base64");
  return [here.state().split("\n").filter(others), here.git("symbolic-ref", "HEAD"), index()];
}

describe("merge --pr", () => {
  it("pushes a branch of its own that begins at the base's tip, and opens one pull request, however often it is killed or repeated", async () => {
    const here = repositoryRig();
    const go = join(here.home, "../go");
    const tasks = [
      { task_id: "one", shell: "sed -i 's/^line 3$/three/' a.txt; rm b.txt" },
      { task_id: "two", shell: `test -e ${go} && echo two > two.txt` },
    ];
    expect(await ran(here, tasks)).toBe(1);
    const there = hub(here);
    const sprung = join(here.home, "../sprung");
    for (const hook of ["pre-push", "reference-transaction", "post-checkout"])
      chmodSync(here.write(`workspace/.git/hooks/${hook}`, `#!/bin/sh\ntouch ${sprung}\n`), 0o755);
    const mine = (...words: string[]) => here.git("-c", "core.hooksPath=/dev/null", ...words);
    here.mine("later.txt", "later\n");
    mine("add", ".");
    mine("commit", "-qm", "later");
    here.mine("a.txt", "not committed\n");
    const before = untouched(here);
    const words = ["merge", "s", "--pr", "--partial"];

    const left = here.write("left", "");
    there.instead(`echo $$ > ${left}; kill -9 $PPID; exec sleep 60`);
    const killed = await here.run(words, { env: there.env });
    expect([killed.signal, there.requests()]).toEqual(["SIGKILL", 0]);
    there.instead("echo 'no luck' >&2; exit 1");
    const failed = await typed(here, words, there.env);
    expect(textIn(`/proc/${readFileSync(left, "utf8").trim()}/cmdline`) ?? "").toBe("");
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringMatching(
        /is pushed.*no luck.*gh pr create --head bosun\/s --base main --title 'Write some files.'/s,
      ),
    ]);
    const opened = await typed(here, words, there.env);
    expect([opened.code, opened.stderr]).toEqual([0, ""]);
    expect(opened.stdout).toMatch(new RegExp(`bosun/s is pushed to origin.*is opened: ${URL}\n.*bosun undo s`, "s"));
    expect(there.requests()).toBe(1);
    const remote = here.git("remote", "get-url", "origin");
    expect(there.asked().split("\n").at(-2)).toBe(
      `<pr> <create> <--repo> <${remote}> <--head> <bosun/s> <--base> <main> <--title> <Write some files.> <--body-file> <-> `,
    );
    expect(there.body()).toMatch(
      /session <code>s<.code>.*> Write some files\..*\*\*one\*\* \(merged\): .*\*\*two\*\* \(failed/s,
    );
    expect(there.git("log", "-1", "--format=%P", "bosun/s").split(" ")[0]).toBe(here.git("rev-parse", "main"));
    expect(here.git("diff", "--name-only", "main", "bosun/s")).toBe("a.txt\nb.txt");
    expect(untouched(here)).toEqual(before);

    const first = there.git("rev-parse", "bosun/s");
    const again = await typed(here, words, there.env);
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining(`was open already: ${URL}`)]);
    expect(there.git("rev-parse", "bosun/s")).toBe(first);

    here.write("go", "");
    expect((await typed(here, ["retry", "s", "two"])).code).toBe(0);
    expect((await typed(here, ["resume", "s", "--no-input"])).code).toBe(0);
    here.mine("more.txt", "more\n");
    mine("add", "more.txt");
    mine("commit", "-qm", "later still", "more.txt");
    const second = await typed(here, ["merge", "s", "--pr"], there.env);
    expect([second.code, second.stdout]).toEqual([
      0,
      expect.stringMatching(/two\.txt.* 1 file changed.*was open already/s),
    ]);
    expect([there.requests(), existsSync(sprung)]).toEqual([1, false]);
    expect(there.git("merge-base", first, "bosun/s")).toBe(first);
    const main = here.git("rev-parse", "main");
    expect(there.git("merge-base", main, "bosun/s")).toBe(main);
    expect(here.git("diff", "--name-only", "main", "bosun/s")).toBe("a.txt\nb.txt\ntwo.txt");

    expect((await typed(here, ["undo", "s"])).stdout).toContain("s is taken back from bosun/s");
    expect(here.git("diff", "--name-only", "main", "bosun/s")).toBe("a.txt\nb.txt");
  });

  it("needs a remote and its base before it writes anything, takes the one to which git pushes, and pushes without gh", async () => {
    const here = repositoryRig();
    await done(here);
    const before = here.state();
    const alone = await typed(here, ["merge", "--pr"]);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining("no remote origin")]);
    const [origin, fork] = [hub(here), hub(here, "fork")];
    const absent = await typed(here, ["merge", "--pr", "--into", "absent"], origin.env);
    expect([absent.code, absent.stderr]).toEqual([2, expect.stringContaining("no branch refs/heads/absent")]);
    expect([here.state(), origin.asked(), origin.git("for-each-ref")]).toEqual([before, "", ""]);

    here.git("branch", "next", "main");
    here.git("config", "branch.next.remote", "origin");
    here.git("config", "remote.pushDefault", "fork");
    const planted = here.write("workspace/bin/gh", '#!/bin/sh\ntouch "$0.ran"\n');
    chmodSync(planted, 0o755);
    const PATH = `${dirname(planted)}:${here.environment["PATH"]}`;
    const without = await typed(here, ["merge", "--pr", "--into", "next", "--squash"], { PATH });
    expect([without.code, without.stderr]).toEqual([
      1,
      expect.stringMatching(/gh is not on the PATH.*gh pr create --head fork:bosun\/s --base next/s),
    ]);
    expect([existsSync(`${planted}.ran`), origin.git("for-each-ref")]).toEqual([false, ""]);
    expect(fork.git("log", "-1", "--format=%P", "bosun/s")).toBe(here.git("rev-parse", "next"));

    here.git("config", "branch.next.pushRemote", "gone");
    expect((await typed(here, ["merge", "--pr", "--into", "next"])).stderr).toContain("no remote gone");
    here.git("config", "branch.next.pushRemote", "origin");
    rmSync(here.git("remote", "get-url", "origin"), { recursive: true });
    const away = await typed(here, ["merge", "--pr", "--into", "next"], origin.env);
    expect([away.code, away.stderr]).toEqual([1, expect.stringMatching(/not pushed.*git push origin bosun\/s/s)]);
    expect(origin.asked()).toBe("");
  });

  it("is refused if the base conflicts, and goes on from where a person has resolved it", async () => {
    const here = repositoryRig();
    await done(here);
    const there = hub(here);
    here.git("config", "branch.main.remote", ".");
    here.mine("a.txt", "other\n");
    here.git("commit", "-qam", "other");
    const refused = await typed(here, ["merge", "--pr"], there.env);
    expect([refused.code, there.git("for-each-ref"), there.asked()]).toEqual([1, "", ""]);
    const [, commands = ""] = /conflicts .*: a\.txt\.[^]*yourself: (git [^]*FETCH_HEAD)/.exec(refused.stderr) ?? [];
    expect(commands).toMatch(/^git switch -c bosun\/s main && git fetch/);
    const resolving = spawnSync("sh", ["-c", commands], {
      cwd: here.workspace,
      env: here.environment,
      encoding: "utf8",
    });
    expect(resolving.stdout).toContain("CONFLICT");
    here.mine("a.txt", "both\n");
    here.git("commit", "-qam", "resolved");
    const before = untouched(here);
    const opened = await typed(here, ["merge", "--pr"], there.env);
    expect([opened.code, opened.stdout]).toEqual([0, expect.stringContaining(URL)]);
    expect(there.git("show", "bosun/s:a.txt")).toBe("both");
    expect(untouched(here)).toEqual(before);
  });
});
