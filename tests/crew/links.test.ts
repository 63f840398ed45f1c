import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readMarkdown, slug } from "../../src/crew/survey/markdown.ts";
import type { Ran, Scratch } from "./programs.ts";
import { cleanUp, crewRun, directory, scratchRepository } from "./programs.ts";
import { computing } from "../computing.ts";

let repository: Scratch;
let artifacts: string;

beforeEach(() => {
  repository = scratchRepository();
  artifacts = directory();
});
afterEach(cleanUp);

function survey(...args: string[]): Promise<Ran> {
  return crewRun("survey", args, { cwd: repository.root, env: { BOSUN_ARTIFACTS_DIR: artifacts } });
}

interface Found {
  file: string;
  line: number;
  claim: { fault: string; destination: string };
}

function kept(): { items: Found[] } {
  return JSON.parse(readFileSync(join(artifacts, "links.json"), "utf8")) as { items: Found[] };
}

describe("links", () => {
  it("names every broken link and anchor of the tracked Markdown, and nothing else", async () => {
    repository.write({
      ".gitignore": "built/\n",
      "built/x.md": "x",
      "docs/guide.md": "# The guide\n\nSetext heading\n---\n\n## Twice\n## Twice\n\n<a id='own'></a>\n",
      "src/a.ts": "x\n",
      "README.md": [
        "[good](docs/guide.md#the-guide) [dir](docs/) [root](/src/a.ts) ![no](img/none.png)", // 1
        "[gone](docs/gone.md 'title') [out](../../issues) [web](https://example.org/x) [mail](mailto:a@b)", // 2
        "[setext](docs/guide.md#setext-heading) [second](docs/guide.md#twice-1) [own](docs/guide.md#own)", // 3
        "[third](docs/guide.md#twice-2) [here](#below) [nowhere](#nowhere) [line](src/a.ts#L3)", // 4
        "[ignored](built/x.md) `[code](code.md)` \\[not a link](not.md)", // 5
        "<!-- [hidden](hidden.md)", // 6
        '[still](hidden.md) --> <a href="gone.html">x</a>', // 7
        "```md", // 8
        "[fenced](fenced.md)", // 9
        "````", // 10
        "", // 11
        "    [indented](indented.md)", // 12
        "", // 13
        "# Below", // 14
        "[ref]: docs/lost.md", // 15
        "[^1]: see docs/footnote.md", // 16
        "[paren](docs/a_(b).md) [template](${base}/x.md) [query](src/a.ts?raw=1)", // 17
      ].join("\n"),
    });
    repository.commit("docs");
    expect((await survey("links")).code).toBe(0);
    expect(kept().items.map(({ file, line, claim }) => `${file}:${line} ${claim.fault} ${claim.destination}`)).toEqual([
      "README.md:1 missing img/none.png",
      "README.md:2 missing docs/gone.md",
      "README.md:4 anchor docs/guide.md#twice-2",
      "README.md:4 anchor #nowhere",
      "README.md:5 untracked built/x.md",
      "README.md:7 missing gone.html",
      "README.md:15 missing docs/lost.md",
      "README.md:17 missing docs/a_(b).md",
    ]);
    expect(await survey("verify", "links")).toMatchObject({ code: 0, stdout: "all 8 claims hold.\n" });
  });

  it("is disproved when the target is there, the heading is there, or the line has no such link", async () => {
    repository.write({ "a.md": "# One two\n[x](gone.md)\n[y](#one)\n" });
    repository.commit("one");
    await survey("links");
    const [missing, anchor] = kept().items as [Found, Found];
    const lies = [
      { ...missing, claim: { ...missing.claim, target: "a.md" } },
      { ...anchor, claim: { ...anchor.claim, fragment: "one-two" } },
      { ...missing, line: 1 },
    ];
    writeFileSync(join(artifacts, "links.json"), JSON.stringify({ ...kept(), items: lies }));
    expect(await survey("verify", "links")).toMatchObject({
      code: 1,
      stdout:
        "false claim: a.md:2: git has a.md\nfalse claim: a.md:3: a.md:1 is the heading it leads to\nfalse claim: a.md:1 has no link to gone.md\n",
    });
  });
});

it.each([
  ["Hello, World!", "hello-world"],
  ["A `code` & more", "a-code--more"],
  ["[Link](x.md) text", "link-text"],
  ["snake_case _emphasis_", "snake_case-emphasis"],
  ["Über 日本語", "über-日本語"],
])("the anchor of %j is %j", (heading, anchor) => {
  expect(slug(heading)).toBe(anchor);
});

it.each([
  "[".repeat(50_000),
  "](".repeat(50_000),
  "`".repeat(50_000),
  "<a ".repeat(20_000),
  "\\".repeat(50_000),
  "![](".repeat(30_000),
  `# ${"_".repeat(50_000)}`,
  `# ${"[](".repeat(30_000)}`,
  `# ${"[".repeat(50_000)}`,
  `# ${"<".repeat(50_000)}`,
  `# ${" ".repeat(50_000)}x`,
  `# ${" #".repeat(25_000)}x`,
  "[](".repeat(30_000),
  "- ".repeat(30_000),
  `[${"a".repeat(30_000)}`,
])("hostile Markdown is read in linear time (%#)", (text) => {
  expect(computing(() => readMarkdown(`${text}\n`))).toBeLessThan(1000);
});
