import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { counted, type Finding, type Found, line, SEVERITIES, worstFirst } from "./finding.ts";
import type { Repository } from "./repository.ts";
import { earlierFindings } from "./request.ts";

const HEADINGS = { high: "Look at these first", medium: "Worth a look", low: "Good to know" } as const;

/** Among findings of one severity, those that a developer would most want to act on come first. */
const ORDER = ["lockfile", "untested", "links", "hot-spots", "licences"];

const TITLE = "What the survey found";
const LOOKED_AT = "## What was looked at";

/** Collects all earlier findings in one `report.md`, worst first. */
export async function find(_repository: Repository, directory: string): Promise<Found> {
  const findings = (await earlierFindings(directory)).toSorted(
    (one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind),
  );
  if (findings.length === 0) throw new Error("there is no finding; make the task depend on those that find");
  const items = worstFirst(
    findings.flatMap(({ kind, items: own }) => own.map((item) => ({ ...item, claim: { from: kind } }))),
  );
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "report.md"), report(findings, items));
  const high = items.filter(({ severity }) => severity === "high").length;
  return {
    title: TITLE,
    looked_at: `${counted(items.length, "finding")}, ${high} of them to look at first. All are in report.md.`,
    items,
    details: { kinds: findings.map(({ kind, looked_at, items: own }) => ({ kind, looked_at, items: own.length })) },
  };
}

function report(findings: readonly Finding[], items: Found["items"]): string {
  const groups = SEVERITIES.flatMap((severity) => {
    const own = items.filter((item) => item.severity === severity);
    return own.length === 0 ? [] : [`## ${HEADINGS[severity]}`, "", ...own.map((item) => `- ${line(item)}`), ""];
  });
  const revision = findings.find((finding) => finding.revision !== null)?.revision ?? undefined;
  return [
    `# ${TITLE}`,
    "",
    revision === undefined ? "Before the first commit." : `At commit ${revision}.`,
    "",
    ...(items.length === 0 ? ["Nothing found.", ""] : groups),
    LOOKED_AT,
    "",
    ...findings.flatMap(({ title, looked_at, notes }) => [
      `- ${title}: ${looked_at}`,
      ...notes.map((note) => `  - ${note}`),
    ]),
    "",
  ].join("\n");
}

/** Checks that the report has exactly these findings in this order, and that each file and line exists. */
export function verify({ items }: Finding, repository: Repository, directory: string): string[] {
  const lines = readFileSync(join(directory, "report.md"), "utf8").split("\n");
  const said = lines.slice(0, lines.indexOf(LOOKED_AT)).filter((text) => text.startsWith("- "));
  const wanted = worstFirst(items).map((item) => `- ${line(item)}`);
  const differs = wanted.find((text, index) => text !== said[index]) ?? said[wanted.length];
  const nowhere = items.flatMap((item) => {
    if (!repository.exists(item.file)) return [`there is no ${line(item)}`];
    const { length } = (repository.readWhole(item.file) ?? "").split("\n");
    return (item.line ?? 1) <= length ? [] : [`there is no such line: ${line(item)}`];
  });
  return [...(differs === undefined ? [] : [`report.md and the findings differ: ${differs}`]), ...nowhere];
}
