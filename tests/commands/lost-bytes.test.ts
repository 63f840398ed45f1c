import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { built } from "../built.ts";
import { typed } from "./in-process.ts";
import { rig, tinyPlan } from "./rig.ts";

/** A name in Latin-1, which only a shell can write: Node's own arguments are UTF-8. */
const LATIN_1 = String.raw`"$(printf 'caf\351')"`;

const PLAN = tinyPlan([{ task_id: "a", shell: "true" }]);

it.skipIf(process.platform !== "linux").each([
  ["the current directory", 3, `cd ${LATIN_1} && bosun run --plan ../plan.json`],
  ["a directory of a variable", 3, `HOME=$PWD/${LATIN_1} bosun status`],
  ["a home", 2, `bosun --home ${LATIN_1} run --plan plan.json`],
  ["a missing home", 3, `BOSUN_HOME=new-${LATIN_1} bosun run --plan plan.json`],
  ["a workspace", 2, `bosun run --cwd ${LATIN_1} --plan plan.json`],
  ["a file", 2, `bosun run --plan ${LATIN_1}/plan.json`],
  ["a note", 2, `bosun tell ${LATIN_1}`],
])("%s that is not UTF-8 is refused as such, and nothing is made", (_, code, command) => {
  const here = rig();
  here.write("workspace/plan.json", PLAN);
  execFileSync("sh", ["-c", `mkdir ${LATIN_1}; cp plan.json ${LATIN_1}`], { cwd: here.workspace });
  const before = readdirSync(here.workspace, "buffer");
  const script = `bosun() { '${process.execPath}' '${built("cli.js")}' "$@"; }; ${command}`;
  const { status, stderr } = spawnSync("sh", ["-c", script], { cwd: here.workspace, env: here.environment });
  expect([status, stderr.toString()]).toEqual([code, expect.stringContaining("UTF-8")]);
  expect(readdirSync(here.workspace, "buffer")).toEqual(before);
});

it("a text with U+FFFD itself is kept", async () => {
  const here = rig();
  here.write("workspace/plan.json", tinyPlan([{ task_id: "a", shell: "true", more: { review: "user" } }]));
  expect((await typed(here, ["run", "--plan", join(here.workspace, "plan.json")])).code).toBe(4);
  expect((await typed(here, ["tell", "the log says \ufffd"])).code).toBe(0);
});
