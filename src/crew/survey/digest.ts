import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { textOf } from "../turn.ts";
import type { Ask, Finding, Item, Severity, Survey } from "./finding.ts";
import { counted, line, readFinding, SEVERITIES, worstFirst } from "./finding.ts";
import type { Repository } from "./repository.ts";
import { inParallel } from "./repository.ts";
import { readRequest } from "./request.ts";

const HEADINGS: Readonly<Record<Severity, string>> = {
  high: "Look at these first",
  medium: "Worth a look",
  low: "To know",
};

/** All findings of the tasks before in one `report.md`, worst first; files given by hand take their place. */
export const digest: Survey = {
  options: { title: { type: "string" } },
  find: writeDigest,
  verify: verifyDigest,
};

async function writeDigest(repository: Repository, { options, rest, directory }: Ask): Promise<Finding> {
  const files = rest.length > 0 ? rest : await filesBefore();
  if (files.length === 0)
    throw new Error(
      "there is no finding to put together; make the task depend on those that find, or name their files",
    );
  const findings = await Promise.all(files.map(readFinding));
  const items = worstFirst(
    findings.flatMap((finding) => finding.items.map((item) => ({ ...item, claim: { from: finding.kind } }))),
  );
  const title = typeof options["title"] === "string" ? options["title"] : "What the survey found";
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, "report.md"), report(title, findings, items));
  const high = items.filter(({ severity }) => severity === "high").length;
  return {
    kind: "digest",
    title,
    revision: repository.head ?? null,
    looked_at: `${counted(items.length, "finding")} of ${counted(findings.length, "kind")}: ${high} to look at first. The whole is in report.md.`,
    notes: [],
    items,
    details: { kinds: findings.map(({ kind }) => kind), high },
  };
}

async function filesBefore(): Promise<string[]> {
  const request = await readRequest();
  // A task that other tasks put together has its own digest; its parts come through itself.
  return (request?.artifacts ?? []).filter(({ label }) => label.endsWith(".json")).map(({ file }) => file);
}

function report(title: string, findings: readonly Finding[], items: readonly Item[]): string {
  const groups = SEVERITIES.flatMap((severity) => {
    const own = items.filter((item) => item.severity === severity);
    return own.length === 0 ? [] : [`## ${HEADINGS[severity]}`, "", ...own.map((item) => `- ${line(item)}`), ""];
  });
  const revision = findings.find((finding) => finding.revision !== null)?.revision;
  return [
    `# ${title}`,
    "",
    revision === undefined || revision === null ? "Before the first commit." : `At commit ${revision}.`,
    "",
    ...(items.length === 0 ? ["Nothing found.", ""] : groups),
    "## What was looked at",
    "",
    ...findings.flatMap((finding) => [
      `- ${finding.title}: ${finding.looked_at}`,
      ...finding.notes.map((note) => `  - ${note}`),
    ]),
    "",
  ].join("\n");
}

/** The other way: every finding must stand in the report once, in falling order, and its file and line must be there. */
async function verifyDigest(finding: Finding, repository: Repository, directory: string): Promise<string[]> {
  const lines = (await readFile(join(directory, "report.md"), "utf8")).split("\n");
  const places = finding.items.map((item) => lines.indexOf(`- ${line(item)}`));
  const missing = finding.items
    .filter((_, index) => places[index] === -1)
    .map((item) => `report.md does not say: ${line(item)}`);
  const bullets = lines.slice(0, lines.indexOf("## What was looked at")).filter((text) => text.startsWith("- ")).length;
  const surplus =
    bullets === finding.items.length ? [] : [`report.md has ${bullets} findings, the digest ${finding.items.length}`];
  const ranks = finding.items.map(({ severity }) => SEVERITIES.indexOf(severity));
  const disorder = ranks.some((rank, index) => rank < (ranks[index - 1] ?? 0))
    ? ["the findings are not in falling order"]
    : [];
  const nowhere = await inParallel(finding.items, async (item) => {
    if (!(await repository.exists(item.file))) return [`there is no ${line(item)}`];
    if (item.line === undefined) return [];
    const text = await readFile(join(repository.root, item.file), "utf8").catch(() => "");
    return text.split("\n").length >= item.line ? [] : [`there is no such line: ${line(item)}`];
  });
  return [
    ...missing,
    ...surplus,
    ...disorder,
    ...nowhere.flat(),
    ...(textOf(finding.title) === "" ? ["the report has no title"] : []),
  ];
}
