import type { JsonObject } from "../../lib/json.ts";
import { textOf } from "../turn.ts";
import type { Finding, Item, Survey } from "./finding.ts";
import { place, shown } from "./finding.ts";
import { lineAt, readJson } from "./json-file.ts";
import type { Repository } from "./repository.ts";

const CHANGELOGS = /^(?:changelog|changes|history|releases?|news)(?:\.(?:md|markdown|txt|rst))?$/i;

/** Whether the change log speaks of the version that package.json says, and whether that version is still to be released. */
export const changelog: Survey = { options: {}, find: findChangelog, verify: verifyChangelog };

async function findChangelog(repository: Repository): Promise<Finding> {
  const manifest = await readJson(repository, "package.json");
  if (manifest === undefined) throw new Error("there is no package.json; this is no npm package");
  const version = textOf(manifest.value["version"]);
  const file = repository.files.find((path) => CHANGELOGS.test(path));
  const at = lineAt(manifest.text, '"version"') ?? 1;
  const claim = { version, changelog: file ?? "" };
  const items: Item[] = [];
  const fault = (of: string, line: number, text: string, more: JsonObject): void => {
    items.push({ severity: "high", file: of, line, text, claim: { ...claim, ...more } });
  };
  const tag = version === "" ? "" : await tagOf(repository, version);
  if (version === "") fault("package.json", 1, "states no version to release", { fault: "no_version" });
  else if (file === undefined)
    fault("package.json", at, `version ${shown(version)} has no change log beside it`, { fault: "no_changelog" });
  else if (!headingOf((await repository.read(file)) ?? "", version)) {
    fault(file, 1, `has no heading for version ${shown(version)}`, { fault: "no_heading" });
  }
  if (tag !== "")
    fault("package.json", at, `version ${shown(version)} is already tagged ${shown(tag)}`, { fault: "tagged", tag });
  return {
    kind: "changelog",
    title: "Version and change log",
    revision: repository.head ?? null,
    looked_at: `Version ${version === "" ? "none" : shown(version)} of package.json against ${file === undefined ? "no change log" : place(file)} and the tags.`,
    notes: [],
    items,
    details: { version, changelog: file ?? null },
  };
}

async function tagOf(repository: Repository, version: string): Promise<string> {
  const refs = [`refs/tags/${version}`, `refs/tags/v${version}`];
  const found = await repository.git(["for-each-ref", "--format=%(refname:short)", ...refs]);
  return found.split("\n")[0] ?? "";
}

function headingOf(text: string, version: string): boolean {
  const lines = text.split("\n");
  return lines.some((line, index) => {
    const heading = /^#{1,4}\s/.test(line) || /^(?:=|-){3,}\s*$/.test(lines[index + 1] ?? "");
    return heading && line.split(/[\s[\]()]+/).some((word) => word.replace(/^v/i, "").replace(/[:,]$/, "") === version);
  });
}

async function verifyChangelog(finding: Finding, repository: Repository): Promise<string[]> {
  const version = textOf(finding.details["version"]);
  const wrong: string[] = [];
  for (const { claim } of finding.items) {
    const file = textOf(claim["changelog"]);
    if (claim["fault"] === "no_heading") {
      const escaped = version.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const found = await repository.grep([
        "-n",
        "-E",
        "-e",
        `^#+.*[^0-9.]${escaped}([^0-9.]|$)`,
        "--",
        `:(top,literal)${file}`,
      ]);
      if (found !== "") wrong.push(`${shown(file)} has the heading ${found.trim()}`);
    }
    if (
      claim["fault"] === "tagged" &&
      (await repository
        .git(["rev-parse", "--verify", "--quiet", `refs/tags/${textOf(claim["tag"])}`])
        .catch(() => "")) === ""
    ) {
      wrong.push(`there is no tag ${textOf(claim["tag"])}`);
    }
    if (claim["fault"] === "no_changelog" && repository.files.some((path) => CHANGELOGS.test(path)))
      wrong.push("there is a change log");
    if (
      claim["fault"] === "no_version" &&
      textOf((await readJson(repository, "package.json"))?.value["version"]) !== ""
    )
      wrong.push("there is a version");
  }
  return wrong;
}
