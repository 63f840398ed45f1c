import { describe, expect, it } from "vitest";
import { difference, SOURCES } from "./sources.ts";

/** The only files that make files or folders, besides those of `lib` that make Bosun's own. What a person or an agent gets has the modes of its umask. */
const MAKERS: Readonly<Record<string, readonly string[]>> = {
  "commands/init.ts": ["mkdirSync", "writeFileSync"],
  "commands/plan.ts": ["writeFileSync"],
  "commands/presenters/report-file.ts": ["appendFileSync", "openSync"],
  "ui/github/reporter.ts": ["appendFileSync"],
  // Into an open file of Bosun's own.
  "log/report.ts": ["appendFileSync"],
  "log/writer.ts": ["appendFileSync"],
  // In a folder of `mkdtemp`, which nobody else may enter.
  "crew/demo/proof.ts": ["cpSync", "writeFileSync"],
  "crew/shell/work.ts": ["writeFileSync"],
  // The crew's programs work for the person or the agent who calls them.
  "crew/survey/digest.ts": ["mkdir", "writeFile"],
  "crew/survey/finding.ts": ["mkdir", "writeFile"],
};

/** Calls that make files or folders, except `mkdtemp`: nobody else may enter what it makes. */
const MAKING =
  /(?<![#.\w])(?:mkdir|writeFile|appendFile|copyFile|cp)(?:Sync)?\b(?=\()|\bcreateWriteStream\b(?=\()|\bopenSync\b(?=\([^)]*"[wa]x?\+?"\))/g;

describe("the disk", () => {
  it("gets files and folders that only this user may read, except in listed files", () => {
    const inside = SOURCES.filter(({ name }) => !["lib/directory.ts", "lib/files.ts"].includes(name));
    const found = new Map(inside.map(({ name, code }) => [name, [...new Set(code.match(MAKING))]]));
    expect(difference(found, MAKERS)).toEqual({ added: [], gone: [] });
    expect('openSync(path, "wx"); mkdirSync(a); await writeFile(b); openSync(c, "r")'.match(MAKING)).toHaveLength(3);
  });
});
