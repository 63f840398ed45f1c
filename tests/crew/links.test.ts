import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readMarkdown, slug } from "../../src/crew/survey/links.ts";
import { type JsonObject, textWithin } from "../../src/lib/json.ts";
import { computing } from "../computing.ts";
import { Bench } from "./bench.ts";
import { cleanUp } from "./programs.ts";

let bench: Bench;

beforeEach(() => {
  bench = new Bench();
});
afterEach(cleanUp);

describe("links", () => {
  it("finds every broken link and anchor of tracked Markdown, and nothing else", async () => {
    bench.repository.write({
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
    bench.repository.commit("docs");
    expect(
      (await bench.items("links")).map(
        ({ file, line, claim }) => `${file}:${line} ${textWithin(claim["fault"])} ${textWithin(claim["destination"])}`,
      ),
    ).toEqual([
      "README.md:1 missing img/none.png",
      "README.md:2 missing docs/gone.md",
      "README.md:4 anchor docs/guide.md#twice-2",
      "README.md:4 anchor #nowhere",
      "README.md:5 untracked built/x.md",
      "README.md:7 missing gone.html",
      "README.md:15 missing docs/lost.md",
    ]);
  });

  it("is disproved by a target or heading that exists, or a line without the link", async () => {
    bench.repository.write({ "a.md": "# One two\n[x](gone.md)\n[y](#one)\n" });
    bench.repository.commit("one");
    const disproved = async (lie: JsonObject) => {
      await bench.items("links");
      return bench.falseClaims("links", (item) => ({ ...item, claim: { ...item.claim, ...lie } }));
    };
    expect(await disproved({ target: "a.md" })).toEqual(["false claim: a.md:2: git has a.md"]);
    expect(await disproved({ fragment: "one-two" })).toEqual([
      expect.stringMatching(/a\.md:3: a\.md:1 is the heading/),
    ]);
    expect(await disproved({ destination: "other.md" })).toHaveLength(2);
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
])("reads hostile Markdown in linear time (%#)", (text) => {
  expect(computing(() => readMarkdown(`${text}\n`))).toBeLessThan(1000);
});
