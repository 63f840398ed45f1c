import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { typedIn } from "./in-process.ts";
import { type Rig, rig } from "./rig.ts";
import { ASK } from "./waiting-task.ts";

/** Commands typed in folders beside each other, each with its own home. */
function folders(here: Rig) {
  const root = dirname(here.workspace);
  const at = async (name: string, ...args: string[]) => {
    mkdirSync(join(root, name), { recursive: true });
    return typedIn(join(root, name), here.environment, args);
  };
  const plan = here.write("plan.json", ASK);
  const asking = async (name: string, ...more: string[]) => {
    const { code, stdout } = await at(name, "run", "--plan", plan, ...more);
    expect(code).toBe(4);
    return /bosun answer (\S+)/.exec(stdout)?.[1] ?? "";
  };
  return { root, at, asking };
}

interface Entry {
  readonly session_id: string;
  readonly home: string;
  readonly workspace: string;
}

it("finds a session by its id or prefix from any directory", async () => {
  const here = rig();
  const { root, at, asking } = folders(here);
  const one = await asking("one");
  await asking("two");
  for (const from of ["nowhere", "two"]) {
    expect((await at(from, "status", one)).stdout).toContain(join(root, "one"));
    expect((await at(from, "status", one.slice(0, 6), "--json")).stdout).toContain(one);
    expect((await at(from, "log", one)).stdout).toContain(one);
    expect((await at(from, "replay", one, "--verify")).stdout).toContain(one);
    expect((await at(from, "attach", one, "--no-input")).stdout).toContain(one);
  }
  expect((await at("two", "answer", one, "Eve")).stdout).toContain(`Kept for ${one}`);
  expect((await at("nowhere", "resume", one)).code).toBe(0);
  expect((await at("two", "status", one)).stdout).toContain("done");
});

it("refuses a prefix of sessions in two other homes, and names both", async () => {
  const { at, asking } = folders(rig());
  for (const name of ["one", "two"]) await asking(name, "--session", `s-ab${name}`);
  const both = await at("three", "status", "s-ab");
  expect([both.code, both.stderr]).toEqual([2, expect.stringMatching(/(?=.*s-abone in)(?=.*s-abtwo in)/)]);
  expect((await at("two", "status", "s-ab")).stdout).toContain("s-abtwo");
});

it("means the nearer of two sessions with one id", async () => {
  const here = rig();
  const { root, at, asking } = folders(here);
  for (const name of ["one", "two"]) await asking(name, "--session", "nightly");
  for (const name of ["one", "two"]) expect((await at(name, "status", "nightly")).stdout).toContain(join(root, name));
  const named = /--home (\S+)/.exec((await at("three", "status")).stdout)?.[1] ?? "";
  expect((await at("three", "cancel", "nightly", "--home", named)).stdout).toContain("nightly is cancelled");
});

it("restricts --home and BOSUN_HOME to that home", async () => {
  const here = rig();
  const { root, at, asking } = folders(here);
  const id = await asking("one");
  await asking("two", "--home", "own");
  expect((await at("two", "status", id, "--home", "own")).code).toBe(2);
  const environment = { ...here.environment, BOSUN_HOME: join(root, "two", "own") };
  expect((await typedIn(root, environment, ["status", id])).code).toBe(2);
  expect(JSON.parse((await typedIn(root, environment, ["inbox", "--json"])).stdout)).toHaveLength(1);
});

it("prints --home only where the id does not suffice", async () => {
  const here = rig();
  const { at, asking } = folders(here);
  const id = await asking("one", "--home", "own");
  expect((await at("one", "status", "--home", "own")).stdout).toContain(`bosun status ${id}`);
  expect((await at("two", "status", id)).stdout).toContain(`bosun answer ${id}`);
  await asking("one", "--home", "own", "--session", "nightly");
  expect((await at("one", "status", "nightly", "--home", "own")).stdout).toContain("bosun --home own answer nightly");
});

it("names a ticket or question of another home and changes nothing", async () => {
  const here = rig();
  const { at, asking } = folders(here);
  const id = await asking("one");
  const { code, stderr } = await at("two", "answer", "c1.name", "Eve");
  expect([code, stderr]).toEqual([2, expect.stringContaining(`${id} c1.name`)]);
  expect((await at("one", "status", id)).stdout).toContain("answer");
});

it("shows what waits in all homes, the nearest first, and skips dead ones", async () => {
  const here = rig();
  const { root, at, asking } = folders(here);
  const ids = [await asking("one"), await asking("two")];
  await asking("three", "--home", "gone");
  rmSync(join(root, "three"), { recursive: true });
  const seen = JSON.parse((await at("one", "inbox", "--json")).stdout) as Entry[];
  expect(seen.map(({ session_id, workspace }) => [session_id, workspace])).toEqual([
    [ids[0], join(root, "one")],
    [ids[1], join(root, "two")],
  ]);
  const screen = await at("nowhere", "inbox");
  for (const id of ids) expect(screen.stdout).toContain(`bosun answer ${id}`);
  expect(screen.stderr).toBe("");
  const [, other] = seen;
  const database = new Database(join(other?.home ?? "", "bosun.db"));
  database.exec("INSERT INTO migrations SELECT 9999, name, sha256, applied_at FROM migrations LIMIT 1");
  database.close();
  const newer = await at("one", "inbox");
  expect([newer.code, newer.stderr]).toEqual([0, expect.stringContaining(other?.home ?? "?")]);
  const unfound = await at("one", "status", ids[1] ?? "");
  expect([unfound.code, unfound.stderr]).toEqual([2, expect.stringContaining(other?.home ?? "?")]);
});

it("names the home in the command that answers a session whose id another home may have too", async () => {
  const here = rig();
  const { root, at, asking } = folders(here);
  for (const name of ["one", "two"]) await asking(name, "--session", "nightly");
  const id = await asking("three");
  const seen = JSON.parse((await at("one", "inbox", "--json")).stdout) as (Entry & { next: string[] })[];
  const nexts = seen.map(({ next }) => next[0] ?? "");
  expect(nexts).toContain("bosun answer nightly c1.name Ada");
  expect(nexts).toContain(`bosun answer ${id} c1.name Ada`);
  const other = nexts.find((command) => command.includes("--home")) ?? "";
  const screen = (await at("one", "inbox")).stdout;
  for (const command of nexts) expect(screen).toContain(`      ${command}\n`);
  expect((await at("one", ...other.split(" ").slice(1))).stdout).toContain("Kept for nightly");
  const open = JSON.parse((await at("one", "inbox", "--json")).stdout) as (Entry & { kept?: string })[];
  const kept = open.filter((entry) => entry.kept !== undefined).map(({ workspace }) => workspace);
  expect(kept).toEqual([join(root, "two")]);
});

it("says what to type first where nothing has run yet", async () => {
  const { at } = folders(rig());
  const first = await at("new", "status");
  expect([first.code, first.stderr]).toEqual([0, ""]);
  for (const command of ["bosun run --plan", "bosun demo"]) expect(first.stdout).toContain(command);
  expect((await at("new", "inbox")).code).toBe(0);
  for (const command of ["status", "inbox"])
    expect(await at("new", command, "--json")).toEqual({ code: 0, stdout: "[]\n", stderr: "" });
  for (const named of [["s-abc234"], ["--home", "typo"]]) expect((await at("new", "status", ...named)).code).toBe(2);
});

it("lists the sessions of all homes with their repositories, and with --here only those of this one", async () => {
  const { at, asking } = folders(rig());
  const one = await asking("one");
  const two = await asking("two");
  for (const from of ["two", "nowhere"]) {
    const { stdout } = await at(from, "status");
    expect(stdout).toMatch(new RegExp(`REPOSITORY.*${two} [^\\n]* two .*${one} [^\\n]* one `, "s"));
    expect(stdout.includes("No session has run here yet.")).toBe(from === "nowhere");
  }
  const { stdout: here } = await at("two", "status", "--all", "--here");
  expect(here).toContain(two);
  expect(here).not.toMatch(new RegExp(`${one}|REPOSITORY`));
  expect(here).toMatch(/takes [\d.]+ [kM]B on the disk/);
  const entries = JSON.parse((await at("one", "status", "--all", "--json")).stdout) as Entry[];
  expect(entries.map(({ session_id }) => session_id)).toEqual([two, one]);
  expect(new Set(entries.map(({ home }) => home)).size).toBe(2);
  const inbox = JSON.parse((await at("one", "inbox", "--json", "--here")).stdout) as Entry[];
  expect(inbox.map(({ session_id }) => session_id)).toEqual([one]);
});

it("lists the other homes when one cannot be read, and names that", async () => {
  const here = rig();
  const { at, asking } = folders(here);
  const one = await asking("one");
  const two = await asking("two");
  const broken = (JSON.parse((await at("two", "status", two, "--json")).stdout) as Entry).home;
  writeFileSync(join(broken, "bosun.db"), "no database, but a text that is longer than the header of one".repeat(9));
  const { code, stdout, stderr } = await at("one", "status");
  expect([code, stdout, stderr]).toEqual([0, expect.stringContaining(one), expect.stringContaining(broken)]);
});
