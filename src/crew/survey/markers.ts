import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { textOf } from "../turn.ts";
import type { Ask, Finding, Item, Survey } from "./finding.ts";
import { place, shown } from "./finding.ts";
import type { Repository } from "./repository.ts";

/** Comments that say something must be done before a release, and conflict marks that were left. */
export const markers: Survey = { options: { word: { type: "string" } }, find: findMarkers, verify: verifyMarkers };

const DEFAULT_WORD = "release";
const LONGEST_SHOWN = 160;

async function findMarkers(repository: Repository, { options }: Ask): Promise<Finding> {
  const word = typeof options["word"] === "string" ? options["word"] : DEFAULT_WORD;
  if (!/^[\w-]+$/.test(word)) throw new Error(`--word ${JSON.stringify(word)} is not one word`);
  const patterns = [
    "-e",
    `(//|#|/[*]|<!--|^ *[*]|--|;)[ \t]*(TODO|FIXME|XXX)[(]${word}[)]`,
    "-e",
    "^(<<<<<<<|>>>>>>>) ",
  ];
  const found = await repository.grep(["-n", "-I", "-z", "-E", ...patterns, "--", ":(top)"]);
  const items = [...found.matchAll(/([^\0]+)\0(\d+)\0([^\n]*)\n/g)].map(([, file, line, text]): Item => {
    const words = (text ?? "").trim().slice(0, LONGEST_SHOWN);
    return { severity: "high", file: file ?? "", line: Number(line), text: shown(words), claim: { text: words } };
  });
  return {
    kind: "markers",
    title: "Left to do before the release",
    revision: repository.head ?? null,
    looked_at: `${repository.files.length} tracked files for comments that begin with TODO(${word}), FIXME(${word}) or XXX(${word}), and for conflict marks.`,
    notes: [],
    items,
    details: { word },
  };
}

async function verifyMarkers(finding: Finding, repository: Repository): Promise<string[]> {
  const wrong: string[] = [];
  for (const { file, line, claim } of finding.items) {
    const text =
      (await readFile(join(repository.root, file), "utf8").catch(() => "")).split("\n")[(line ?? 0) - 1] ?? "";
    if (!text.includes(textOf(claim["text"])))
      wrong.push(`${place(file, line)} does not say ${JSON.stringify(claim["text"])}`);
  }
  return wrong;
}
