import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { textIn } from "../../src/lib/files.ts";
import type { JsonObject } from "../../src/lib/json.ts";
import { contents } from "../copies/rig.ts";
import { crew, manager, type Turn, turnOf, worker } from "../model-servers/brains.ts";
import type { Action, Model } from "../model-servers/conversation.ts";
import { agentsCache } from "./install.ts";
import { outputUnless, type Place, placeWith } from "./place.ts";

/** A package of the npm registry that comes with its tests, and needs no other. */
const PACKAGE = {
  name: "color-name@1.1.3",
  file: "color-name-1.1.3.tgz",
  sha512: "72fSenhMw2HZMTVHeCA9KCmpEIbzWiQsjN+BHcBbS9vr1mtt+vJjPdksIBNUmKAW8TFUDPJK5SUU3QhE9NEXDw==",
};

/** The colours of ten tickets, each with the line after which it comes. Two come after the last, which needs a comma then. */
const AFTER = {
  amaranth: '"aliceblue": [240, 248, 255],',
  bistre: '"bisque": [255, 228, 196],',
  carmine: '"cadetblue": [95, 158, 160],',
  denim: '"deeppink": [255, 20, 147],',
  flax: '"firebrick": [178, 34, 34],',
  heliotrope: '"honeydew": [240, 255, 240],',
  mauve: '"maroon": [128, 0, 0],',
  ochre: '"oldlace": [253, 245, 230],',
  zaffre: '"yellowgreen": [154, 205, 50]',
  zinnia: '"yellowgreen": [154, 205, 50]',
} as const;
type Colour = keyof typeof AFTER;
const COLOURS = Object.keys(AFTER).toSorted() as Colour[];
const RIVALS: readonly string[] = ["zaffre", "zinnia"];

const lineOf = (colour: string) => `\t"${colour}": [1, 2, 3]`;

/** The rivals first, so that both begin from the same commit. */
const TASKS: readonly JsonObject[] = COLOURS.toReversed().map((task_id) => ({
  task_id,
  description: `Add the colour ${task_id} to index.js.`,
  instruction: { summary: `Add ${task_id}.`, steps: ["Add a line to index.js."] },
  acceptance_criteria: [
    { text: "it is there", command: ["node", "-e", `process.exit(require("./").${task_id} ? 0 : 1)`] },
  ],
}));

const ROLES = {
  roles: [
    { role_id: "boss", type: "manager", cli_command: ["codex"], capabilities: ["planning", "review"] },
    { role_id: "claude", type: "worker", cli_command: ["claude"] },
    { role_id: "codex", type: "worker", cli_command: ["codex"] },
  ],
};

/** What workers do in their copies. `begun` has the rivals that have begun: none goes on before the other is there. */
function crewIn(copyOf: (turn: Turn) => string) {
  const begun = new Set<string>();
  const sentBack: Turn[] = [];
  let both = () => {};
  const isBoth = new Promise<void>((settle) => (both = settle));
  const works = worker((turn): readonly Action[] => {
    const { ticket_id, role_id } = turn;
    const path = join(copyOf(turn), "index.js");
    // The package has lines that end with CR and LF, which no program is to write.
    const text = (textIn(path) ?? "").replaceAll("\r\n", "\n");
    const marked = /^<{7} .*?^>{7} [^\n]*$/ms.exec(text)?.[0];
    if (marked !== undefined) sentBack.push(turn);
    const after = `\t${AFTER[ticket_id as Colour]}`;
    const isLast = RIVALS.includes(ticket_id);
    const added = isLast ? `${after},\n${lineOf(ticket_id)}` : `${after}\n${lineOf(ticket_id)},`;
    const resolved = `${after},\n${RIVALS.map(lineOf).join(",\n")}`;
    const edit = { edit: "index.js", old: marked ?? after, new: marked === undefined ? added : resolved };
    return role_id === "claude"
      ? [
          { tool: "Read", input: { file_path: path } },
          { ...edit, edit: path },
        ]
      : [edit];
  });
  const waits: Model = async (conversation) => {
    const { ticket_id = "" } = turnOf(conversation) ?? {};
    if (RIVALS.includes(ticket_id)) {
      begun.add(ticket_id);
      if (begun.size === RIVALS.length) both();
      await isBoth;
    }
    return works(conversation);
  };
  return { model: crew(manager({ tasks: TASKS }), waits), sentBack };
}

/** Makes the workspace a clone of the package, all of it committed. */
function clonePackage(here: Place): void {
  const cache = join(agentsCache(), "packages");
  const file = join(cache, PACKAGE.file);
  mkdirSync(cache, { recursive: true });
  if (!existsSync(file)) execFileSync("npm", ["pack", PACKAGE.name, "--silent", "--pack-destination", cache]);
  expect(createHash("sha512").update(readFileSync(file)).digest("base64")).toBe(PACKAGE.sha512);
  execFileSync("tar", ["-xzf", file, "--strip-components=1", "-C", here.workspace]);
  gitIn(here, "add", ".");
  gitIn(here, "commit", "--quiet", "--message", PACKAGE.name);
}

const gitIn = (here: Place, ...words: string[]) =>
  execFileSync("git", words, { cwd: here.workspace, env: here.environment, encoding: "utf8" }).trim();

/** The colours of the tickets that the package has in the person's checkout, where its tests pass. */
function coloursIn(here: Place): string[] {
  const on = { cwd: here.workspace, env: here.environment, encoding: "utf8" } as const;
  execFileSync("npm", ["test", "--silent"], on);
  const all = JSON.parse(execFileSync("node", ["-p", 'JSON.stringify(require("./"))'], on)) as object;
  return COLOURS.filter((colour) => Object.hasOwn(all, colour));
}

it("claude and codex do ten tickets on one file of a real package, and merge, undo and discard do what they promise", async () => {
  const copyOf = ({ session_id, ticket_id }: Turn) =>
    join(here.environment["BOSUN_HOME"] ?? "", "sessions", session_id, "copies", "trees", ticket_id, "tree");
  const { model, sentBack } = crewIn(copyOf);
  const here = await placeWith(model);
  // npm would look for its newest version.
  here.write("home/.npmrc", "update-notifier=false\n");
  clonePackage(here);
  const before = contents(here.workspace);
  const tests = [{ text: "its own tests pass", command: ["npm", "test", "--silent"] }];
  const config = here.write("config.json", { checks: { ticket: tests, merge: tests } });
  const flags = ["--roles", here.write("roles.json", ROLES), "--config", config, "--session", "s-1"];
  const run = await here.bosun("run", "Add ten colours.", ...flags, "--yes", "--no-input", "--reporter", "plain");
  expect(outputUnless(0, run)).toBe("");
  expect(contents(here.workspace)).toEqual(before);

  const { outcome, tickets } = await here.status();
  expect(outcome).toBe("done");
  const triesOf = (isRival: boolean) =>
    tickets.flatMap(({ ticket_id, attempts }) => (RIVALS.includes(ticket_id) === isRival ? Number(attempts) : []));
  expect(triesOf(false)).toEqual(Array.from({ length: 8 }, () => 1));
  expect(new Set(triesOf(true))).toEqual(new Set([1, 2]));
  expect(new Set(tickets.map(({ owner }) => owner))).toEqual(new Set(["claude", "codex"]));
  const records = await here.records();
  const merges = records.flatMap(({ payload: { merge } }) => (merge as JsonObject | undefined)?.["state"] ?? []);
  const howMany = (state: string) => merges.filter((one) => one === state).length;
  expect([merges.length, howMany("merged"), howMany("conflict")]).toEqual([11, 10, 1]);
  expect(sentBack[0]?.text).toMatch(/it conflicts with .*\b(?:zaffre|zinnia)\b.* in index\.js \(1 place\)/);

  expect(coloursIn(here)).toEqual([]);
  expect(outputUnless(0, await here.bosun("merge"))).toBe("");
  expect(coloursIn(here)).toEqual(COLOURS);
  expect(gitIn(here, "status", "--porcelain")).toBe("");
  expect(gitIn(here, "diff", "--stat", "HEAD~1")).toMatch(
    /^ *index\.js .*\n 1 file changed, 11 insertions\(\+\), 1 deletion/,
  );

  expect(outputUnless(0, await here.bosun("undo"))).toBe("");
  expect(coloursIn(here)).toEqual([]);
  expect(gitIn(here, "status", "--porcelain")).toBe("");
  expect(gitIn(here, "diff", "HEAD~2")).toBe("");

  const undone = contents(here.workspace);
  expect(outputUnless(0, await here.bosun("discard", "s-1", "--yes"))).toBe("");
  expect((await here.bosun("diff", "s-1")).code).not.toBe(0);
  expect(outputUnless(0, await here.bosun("discard", "s-1", "--restore"))).toBe("");
  expect((await here.bosun("diff", "s-1")).stdout).toContain(`+${lineOf("amaranth")},`);
  expect(contents(here.workspace)).toEqual(undone);
}, 420_000);
