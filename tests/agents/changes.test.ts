import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tellingChanges } from "../../src/agents/workspace-look.ts";
import type { TurnContext, TurnRequest } from "../../src/kernel/agent.ts";
import { changeLines } from "../../src/kernel/changes.ts";
import type { ChangedFiles } from "../../src/protocol/record.ts";

/** A workspace with two files, committed if it is a repository. */
interface Workspace {
  readonly folder: string;
  write(path: string, text: string): void;
  git(...words: string[]): void;
}

function workspace(isRepository: boolean): Workspace {
  const folder = mkdtempSync(join(tmpdir(), "bosun-changes-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const git = (...words: string[]) =>
    void execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...words], { cwd: folder });
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  mkdirSync(join(folder, "node_modules"));
  write(".gitignore", "node_modules\n");
  write("kept.txt", "one\n");
  write("old.txt", "old\n");
  if (isRepository) {
    git("init", "--quiet");
    git("add", ".");
    git("commit", "--quiet", "-m", "one");
  }
  return { folder, write, git };
}

type Watch = ReturnType<typeof tellingChanges>;

const watching = ({ folder }: Workspace): Watch => tellingChanges(process.env, [join(folder, "logs")]);

/** Takes a turn about a subject, and returns what is told of its changes. */
async function turn(
  watch: Watch,
  { folder }: Workspace,
  subject: string,
  work: () => void | Promise<void>,
  type = "worker",
): Promise<ChangedFiles | undefined> {
  const agent = watch({
    turn: async () => {
      await work();
      return { refused: [] };
    },
  });
  const request = { role: { role_id: "a", type }, stamp: { subject }, payload: { workspace: folder } };
  return (await agent.turn(request as unknown as TurnRequest, {} as TurnContext)).changed_files;
}

const lines = (changes: ChangedFiles | undefined) => changeLines(changes ?? { files: [], count: 0 }, 100);

describe.each([
  ["in a repository", true],
  ["without git", false],
])("%s, a turn that may write tells", (_, isRepository) => {
  it("which files it added, modified and deleted", async () => {
    const here = workspace(isRepository);
    const told = await turn(watching(here), here, "T1", () => {
      here.write("new.txt", "new\n");
      here.write("kept.txt", "one\ntwo\n");
      rmSync(join(here.folder, "old.txt"));
    });
    expect(lines(told)).toEqual(["modified kept.txt", "added new.txt", "deleted old.txt"]);
  });

  it("nothing of what had changed before, of folders of tools and of the scheduler's own files", async () => {
    const here = workspace(isRepository);
    here.write("kept.txt", "changed by a person\n");
    here.write("mine.txt", "a person's\n");
    mkdirSync(join(here.folder, "logs"));
    const told = await turn(watching(here), here, "T1", () => {
      here.write("node_modules/dependency.js", "");
      here.write("logs/000001-session_opened.json", "");
    });
    expect(told).toBeUndefined();
  });

  it("what it changed of files that had changed before", async () => {
    const here = workspace(isRepository);
    here.write("kept.txt", "changed by a person\n");
    here.write("mine.txt", "a person's\n");
    const told = await turn(watching(here), here, "T1", () => {
      here.write("kept.txt", "changed by both of them\n");
      rmSync(join(here.folder, "mine.txt"));
    });
    expect(lines(told)).toEqual(["modified kept.txt", "deleted mine.txt"]);
  });

  it("who else ran at the same time", async () => {
    const here = workspace(isRepository);
    const watch = watching(here);
    const [begun, written] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first = turn(watch, here, "T1", async () => {
      here.write("alone.txt", "T1\n");
      begun.resolve();
      await written.promise;
    });
    await begun.promise;
    const second = await turn(watch, here, "T2", () => here.write("kept.txt", "one of them\n"));
    written.resolve();
    expect(lines(second)).toEqual(["modified kept.txt", "while T1 ran, too"]);
    expect(lines(await first)).toEqual(["added alone.txt", "modified kept.txt", "while T2 ran, too"]);
  });

  it("at most 200 files, and how many there are", async () => {
    const here = workspace(isRepository);
    const told = await turn(watching(here), here, "T1", () => {
      for (let file = 0; file < 250; file += 1) here.write(`new-${file}.txt`, "");
    });
    expect([told?.files.length, told?.count]).toEqual([200, 250]);
  });
});

it("a turn that commits tells what it committed, and not that an earlier change is committed now", async () => {
  const here = workspace(true);
  here.write("mine.txt", "a person's\n");
  const told = await turn(watching(here), here, "T1", () => {
    here.write("new.txt", "new\n");
    renameSync(join(here.folder, "old.txt"), join(here.folder, "moved.txt"));
    here.git("add", ".");
    here.git("commit", "--quiet", "-m", "two");
  });
  expect(lines(told)).toEqual(["added moved.txt", "added new.txt", "deleted old.txt"]);
});

it("a turn tells what it commits first in a new repository", async () => {
  const here = workspace(false);
  here.git("init", "--quiet");
  const told = await turn(watching(here), here, "T1", () => {
    here.write("new.txt", "new\n");
    here.git("add", ".");
    here.git("commit", "--quiet", "-m", "one");
  });
  expect(lines(told)).toEqual(["added new.txt"]);
});

it("a turn in a folder of a repository tells the paths from there, of that folder only", async () => {
  const here = workspace(true);
  mkdirSync(join(here.folder, "part"));
  const part = { ...here, folder: join(here.folder, "part") };
  const told = await turn(watching(part), part, "T1", () => {
    here.write("part/ünd so weiter.txt", "");
    here.write("elsewhere.txt", "");
  });
  expect(lines(told)).toEqual(["added ünd so weiter.txt"]);
});

it("a turn that may not write tells nothing", async () => {
  const here = workspace(true);
  expect(await turn(watching(here), here, "T1", () => here.write("new.txt", ""), "manager")).toBeUndefined();
});
