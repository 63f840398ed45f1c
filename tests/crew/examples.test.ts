import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { loadPlanFile } from "../../src/crew/playbook/plan-file.ts";
import { validators } from "../../src/protocol/generated/validators.js";
import type { UnsealedRecord } from "../../src/protocol/record.ts";
import { built } from "../built.ts";
import { cleanUp, directory, programFile, run, type Scratch, scratchRepository } from "./programs.ts";

const folder = join(import.meta.dirname, "../../examples");
const plans = readdirSync(folder).filter((name) => name.endsWith(".yaml"));

/** In parts, so that the search does not find it in this file. */
const marked = ["//", "TODO(release) say goodbye"].join(" ");

let repository: Scratch;

beforeEach(() => {
  repository = scratchRepository();
});
afterEach(cleanUp);

interface Ticket {
  readonly ticket_id: string;
  readonly status: string;
  readonly attempts: number;
  readonly issues: readonly string[];
  readonly artifacts: readonly { readonly label: string; readonly uri: string }[];
}

/** Runs a plan with `bosun` in the repository. `made` gives the text of an artifact. */
async function carryOut(plan: string, answers: Readonly<Record<string, string>>) {
  const [home, temporary] = [directory(), directory()];
  const config = join(temporary, "config.json");
  writeFileSync(config, JSON.stringify({ retry_backoff_ms: 10 }));
  const bosun = async (...words: string[]) => {
    const argv = [process.execPath, built("cli.js"), "--home", home, ...words, "--json"];
    const { code, stdout } = await run(argv, { cwd: repository.root, env: { TMPDIR: temporary } });
    const lines = stdout.trim().split("\n");
    return { code, events: lines.map((line) => JSON.parse(line) as UnsealedRecord & { type: string }) };
  };
  const given = Object.entries(answers).flatMap(([id, text]) => ["--answer", `${id}=${text}`]);
  const { code, events } = await bosun("run", "--plan", plan, "--config", config, ...given, "--yes", "--no-input");
  const status = await bosun("status", events[0]?.session_id ?? "");
  const { tickets } = status.events[0] as unknown as { tickets: Ticket[] };
  const made = (label: string): string => {
    const found = tickets.flatMap(({ artifacts }) => artifacts).find((artifact) => artifact.label === label);
    if (found === undefined) throw new Error(`no ticket has made ${label}`);
    return readFileSync(join(home, found.uri), "utf8");
  };
  return { code, tickets, records: events.filter(({ type }) => type === "record"), temporary, made };
}

it.each(plans)("examples/%s fits its schema, and the playbook reads it", async (name) => {
  const path = join(folder, name);
  const fits = validators.plan_file(parse(readFileSync(path, "utf8")));
  expect({ fits, errors: validators.plan_file.errors }).toEqual({ fits: true, errors: null });
  expect(await loadPlanFile(path, programFile("playbook"))).toMatchObject({ ok: true });
});

describe("examples/release-check.yaml", () => {
  const check = join(folder, "release-check.yaml");
  const answers = { test_script: "test", marker: "release" };
  const lock = { name: "x", version: "1.2.0", lockfileVersion: 3, packages: { "": { name: "x", version: "1.2.0" } } };
  it("says at once that the lock file is missing", async () => {
    repository.write({ "package.json": { name: "x", version: "1.2.0" } });
    repository.commit("without a lock file");
    const { code, tickets } = await carryOut(check, answers);
    const install = tickets.find(({ ticket_id }) => ticket_id === "install");
    expect([code, install?.status, install?.attempts]).toEqual([1, "error", 1]);
    expect(install?.issues.join("\n")).toContain("has no package-lock.json: run npm install");
  });

  it("approves a package that is ready, and removes its copy", async () => {
    repository.write({
      "package.json": { name: "x", version: "1.2.0", scripts: { test: "node index.js" } },
      "package-lock.json": lock,
      "index.js": "console.log('tested');\n",
      "CHANGELOG.md": "# Changes\n\n## [1.2.0] - 2026-01-01\n",
    });
    repository.commit("ready");
    const carried = await carryOut(check, answers);
    expect(carried.code).toBe(0);
    expect(carried.made("blockers.txt")).toBe("");
    expect(carried.made("tests.log")).toContain("tested");
    expect(carried.made("contents.txt")).toContain("index.js");
    expect(readdirSync(carried.temporary).filter((name) => name.startsWith("bosun-release-check"))).toEqual([]);
  }, 120_000);

  it("names everything that stands in the way, and fails", async () => {
    repository.write({
      "package.json": {
        name: "x",
        version: "1.2.0",
        dependencies: {},
        scripts: { test: "echo broken; exit 1", lint: "exit 2" },
      },
      "package-lock.json": lock,
      "index.js": `${marked}\n`,
      "CHANGELOG.md": "# Changes\n\n## 1.1.0\n\nUntil 1.2.0 nothing.\n",
    });
    repository.commit("not ready");
    repository.git("tag", "v1.2.0");
    repository.write({ "left over.txt": "x" });
    const carried = await carryOut(check, answers);
    expect(carried.code).toBe(1);
    const notDone = carried.tickets.filter(({ status }) => status !== "done");
    expect(notDone).toMatchObject([{ ticket_id: "verdict", status: "error", attempts: 1 }]);
    const blockers = ["tests", "linter", "CHANGELOG.md", "already tagged", "uncommitted", "TODO(release)"];
    const issues = JSON.stringify(notDone);
    expect(blockers.filter((blocker) => !issues.includes(blocker))).toEqual([]);
    expect(carried.made("tests.log")).toContain("broken");
  }, 120_000);
});
