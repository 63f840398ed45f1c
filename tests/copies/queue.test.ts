import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { capture } from "../../src/copies/capture.ts";
import { dropCopy, nextAttempt } from "../../src/copies/copy.ts";
import { advance, branchOf, checkOut, difference, merge } from "../../src/copies/queue.ts";
import { failureOf, value } from "../results.ts";
import {
  agent,
  approved,
  attemptOf,
  begun,
  captured,
  copyFor,
  inSession,
  LIMITS,
  lines,
  merged,
  type Rig,
  rig,
  tip,
} from "./rig.ts";

/** The work of a ticket whose agent runs a command. */
async function worked(at: Rig, ticket_id: string, command: string) {
  agent(at, await copyFor(at, ticket_id), command);
  return approved(ticket_id, await captured(at, ticket_id));
}

const ten = (text: string) => `sed -i 's/^line 10$/${text}/' a.txt`;

describe("the integration queue", () => {
  test("merges two tickets that changed one file, each once and with its trailers", async () => {
    const at = rig();
    await begun(at);
    const works = [
      await worked(at, "T1", "sed -i 's/^line 3$/three/' a.txt"),
      await worked(at, "T2", "sed -i 's/^line 30$/thirty/' a.txt"),
    ];
    for (const work of works) {
      const made = value(await merge(at.place, work));
      expect(value(await merge(at.place, work))).toEqual(made);
      if (made.state !== "made") throw new Error(made.state);
      expect(value(await advance(at.place, made))).toBe("merged");
      expect(value(await advance(at.place, made))).toBe("merged");
      expect(value(await merge(at.place, work))).toMatchObject({ state: "merged", commit: made.commit });
    }
    expect(inSession(at, "show", "refs/bosun/session:a.txt")).toBe(lines({ 3: "three", 30: "thirty" }).trim());
    const { merged, tip } = await branchOf(at.place);
    const [first] = works;
    if (first === undefined) throw new Error("there is no work");
    expect(value(await merge(at.place, first))).toEqual({ state: "merged", commit: merged[0]?.commit, tip });
    expect(merged.map(({ ticket_id, attempt }) => [ticket_id, attempt])).toEqual([
      ["T1", 1],
      ["T2", 1],
    ]);
    expect(inSession(at, "log", "-1", "--format=%(trailers:only)", tip)).toContain("Bosun-Log-Head: 0123");
    expect(value(await difference(at.place))).toContain("+thirty");
    expect(value(await difference(at.place, { from: `${tip}^`, to: tip, stat: true }))).toContain("1 file changed");
    expect(failureOf(await difference(at.place, { to: "nowhere" })).code).toBe("not_found");
  });

  test("takes no ticket as merged because of what an agent wrote into a message", async () => {
    const at = rig();
    await begun(at);
    await merged(at, "T1", `echo 1 > one; git add .; git commit -qm "$(printf 'x\\n\\nBosun-Ticket: T2\\n')"`);
    expect(value(await merge(at.place, await worked(at, "T2", "echo 2 > two"))).state).toBe("made");
  });

  test("does not move the branch if it is elsewhere", async () => {
    const at = rig();
    await begun(at);
    const slow = await worked(at, "T1", "echo 1 > one");
    const made = value(await merge(at.place, slow));
    await merged(at, "T2", "echo 2 > two");
    if (made.state !== "made") throw new Error(made.state);
    expect(value(await advance(at.place, made))).toBe("moved");
    expect(value(await merge(at.place, slow))).toMatchObject({ state: "made", tip: await tip(at) });
  });

  test("tells the places of a file whose lines end with CR and LF like those of any other", async () => {
    const at = rig();
    at.run("config", "core.autocrlf", "false");
    at.write("c.txt", "1\r\n2\r\n3\r\n");
    at.run("add", ".");
    at.run("commit", "-qm", "more");
    await begun(at);
    const second = await worked(at, "T2", "sed -i 's/^2/two/' c.txt");
    await merged(at, "T1", "sed -i 's/^2/one/' c.txt");
    const conflict = value(await merge(at.place, second));
    if (conflict.state !== "conflict") throw new Error(conflict.state);
    expect(conflict.hunks[0]?.hunks[0]).toMatch(/^<{7} \w+\ntwo\n\|{7} \w+\n2\n={7}\none\n>{7} \w+$/);
  });

  test("tells a conflict with its files and places, and puts it before the agent of the next attempt", async () => {
    const at = rig();
    await begun(at);
    const second = await worked(
      at,
      "T2",
      `${ten("by two")}; echo 2 > two; rm b.txt; mkdir ignored; echo x > ignored/kept`,
    );
    await merged(at, "T1", `${ten("by one")}; echo 1 > one; echo more >> b.txt`);
    const conflict = value(await merge(at.place, second));
    if (conflict.state !== "conflict") throw new Error(conflict.state);
    expect(conflict.hunks.map(({ path, hunks }) => [path, hunks.length])).toEqual([
      ["a.txt", 1],
      ["b.txt", 0],
    ]);
    expect(conflict.hunks[0]?.hunks[0]).toMatch(/^<{7} .*\nby two\n\|{7} .*\nline 10\n={7}\nby one\n>{7} .*$/);

    const trap = join(at.folder, "sprung");
    const before = await copyFor(at, "T2");
    agent(
      at,
      before,
      `git config core.fsmonitor 'touch ${trap}'; git config core.worktree ${at.root}; echo x > left; echo x >> src/x.js`,
    );
    const copy = value(await nextAttempt(at.place, "T2", second.commit, conflict.conflict));
    expect(value(await nextAttempt(at.place, "T2", second.commit, conflict.conflict))).toEqual(copy);
    expect(existsSync(trap)).toBe(false);
    expect(agent(at, copy, "git status --porcelain").split("\n")).toEqual([
      "UU a.txt",
      "DU b.txt",
      "A  one",
      "?? left",
    ]);
    expect(readFileSync(join(copy.tree, "src/x.js"), "utf8")).toBe("export const x = 1;\n");
    expect(readFileSync(join(copy.tree, "ignored/kept"), "utf8")).toBe("x\n");
    expect(agent(at, copy, "git rev-parse HEAD MERGE_HEAD").split("\n")).toEqual([second.commit, await tip(at)]);

    const again = { ...attemptOf("T2", 2) };
    expect(value(await capture(at.place, again, LIMITS))).toEqual({
      state: "refused",
      refused: [{ path: "a.txt", why: expect.stringContaining("markers") }],
    });
    writeFileSync(join(copy.tree, "a.txt"), lines({ 10: "by both" }));
    agent(at, copy, "rm left");
    const work = await captured(at, "T2", 2);
    expect(work.files.map(({ path }) => path)).toEqual(["a.txt", "two"]);
    expect(inSession(at, "log", "-1", "--format=%P", work.commit)).toBe(`${second.commit} ${await tip(at)}`);
    const made = value(await merge(at.place, approved("T2", work, 2)));
    if (made.state !== "made") throw new Error(made.state);
    expect(value(await advance(at.place, made))).toBe("merged");
    expect(inSession(at, "show", "refs/bosun/session:a.txt")).toBe(lines({ 10: "by both" }).trim());
  });

  test("takes the agent's own merge, and makes the copy anew if it is gone", async () => {
    const at = rig();
    await begun(at);
    const second = await worked(at, "T2", ten("by two"));
    await merged(at, "T1", ten("by one"));
    const conflict = value(await merge(at.place, second));
    if (conflict.state !== "conflict") throw new Error(conflict.state);
    value(await dropCopy(at.place, "T2"));
    const copy = value(await nextAttempt(at.place, "T2", second.commit, conflict.conflict));
    writeFileSync(join(copy.tree, "a.txt"), lines({ 10: "by both" }));
    agent(at, copy, "git add a.txt; git commit -q --no-edit");
    const work = await captured(at, "T2", 2);
    const head = agent(at, copy, "git rev-parse HEAD");
    expect(inSession(at, "log", "-1", "--format=%P", work.commit)).toBe(head);
    expect(value(await merge(at.place, approved("T2", work, 2))).state).toBe("made");
  });

  test("asks for the next attempt without a conflict from the work of the last", async () => {
    const at = rig();
    await begun(at);
    const first = await worked(at, "T", "echo 1 > one");
    agent(at, await copyFor(at, "T"), "echo left > one");
    const copy = value(await nextAttempt(at.place, "T", first.commit));
    expect(readFileSync(join(copy.tree, "one"), "utf8")).toBe("1\n");
    expect(agent(at, copy, "git status --porcelain; git rev-parse HEAD")).toBe(first.commit);
  });
});

describe("the tree for checks", () => {
  test("holds exactly the commit, whatever checks before it left, and what git ignores until it is made anew", async () => {
    const at = rig();
    await begun(at);
    const commits = [
      await merged(at, "T1", "echo 1 > one; ln -s one link"),
      await merged(at, "T2", "rm link; mkdir link; echo 2 > link/two"),
    ];
    const first = value(await checkOut(at.place, commits[0] ?? ""));
    agent(
      at,
      first,
      "echo bad > a.txt; echo left > left; mkdir -p ignored/d; echo kept > ignored/d/kept; rm b.txt; git config core.fsmonitor false; git init -q nested",
    );
    const second = value(await checkOut(at.place, commits[1] ?? ""));
    expect(second.tree).toBe(first.tree);
    expect(
      agent(
        at,
        second,
        "git status --porcelain; git rev-parse HEAD; cat link/two; git config core.fsmonitor || echo none",
      ),
    ).toBe(`${commits[1]}\n2\nnone`);
    expect([existsSync(join(second.tree, "nested")), existsSync(join(second.tree, "ignored/d/kept"))]).toEqual([
      false,
      true,
    ]);
    const anew = value(await checkOut(at.place, commits[1] ?? "", { anew: true }));
    expect(existsSync(join(anew.tree, "ignored"))).toBe(false);
  });
});
