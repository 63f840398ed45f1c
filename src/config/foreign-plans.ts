import type { Json } from "../lib/json.ts";
import type { SourceDocument } from "../protocol/document/document.ts";
import { type Located, readLocated } from "../protocol/document/located-value.ts";
import type { Finding } from "../protocol/document/problem.ts";
import { positionsIn } from "../protocol/document/source-text.ts";
import type { PlanFile, Task } from "../protocol/payload.ts";
import { type Entry, issueList, type List, markdownList, slug, taskMasterList } from "./foreign-lists.ts";

/** A list of work that another program wrote, as a plan. The places of `source` are those of the list. */
export interface ForeignPlan {
  readonly format: string;
  readonly source: SourceDocument;
  /** Why it is no plan. */
  readonly findings: readonly Finding[];
}

/** The forms by the name that is recorded. A reader returns undefined for what has another form. */
const FORMS: Readonly<
  Record<string, readonly [words: string, read: (text: string, json: Located | undefined) => List | undefined]>
> = {
  markdown: ["a Markdown task list", markdownList],
  task_master: ["Task Master's tasks", taskMasterList],
  github_issues: ["GitHub issues", issueList],
};

/** The plan in a list of one of the forms, which the content tells; undefined for anything else. */
export function foreignPlan(file: string, text: string): ForeignPlan | undefined {
  // JSON is read as such whatever the file is called: the YAML parser takes a hundred times as long.
  const read = /^\s*[[{]/.test(text) ? readLocated(text, "json", "typed") : undefined;
  for (const [format, [words, listIn]] of Object.entries(FORMS)) {
    const list = listIn(text, read?.ok ? read.value : undefined);
    if (list) return { format, ...planOf(file, text, words, list) };
  }
  return undefined;
}

function planOf(file: string, text: string, words: string, list: List): Omit<ForeignPlan, "format"> {
  const { entries, is_partial, tag } = list;
  const open = entries.filter(({ state }) => state === "open");
  const parts = Map.groupBy(open, ({ parent }) => parent);
  const names = Map.groupBy(entries, ({ name }) => name);
  const unlisted = new Set<string>();
  const findings = open.flatMap(({ id, title }, index): Finding[] => {
    const isWhole = id !== "" && title !== "";
    return isWhole ? [] : [{ pointer: `/tasks/${index}`, what: "this entry lacks its id or its title" }];
  });
  if (open.length === 0) findings.push({ pointer: "", what: "no entry of this list is left to do" });
  const before = new Map(open.map((entry, index) => [entry, entry.after.flatMap((name) => meant(name, entry, index))]));
  const tasks = open.map((entry): Task => {
    const own = parts.get(entry) ?? [];
    // What a whole waits for, its parts wait for.
    const inherited = above(entry).flatMap((whole) =>
      (before.get(whole) ?? []).filter((one) => !above(one).includes(whole)),
    );
    const dependencies = [...new Set([...(before.get(entry) ?? []), ...inherited, ...own].map(({ id }) => id))];
    const description = [
      entry.text.trim(),
      entry.parent ? `Part of: ${entry.parent.title}` : "",
      own.length > 0 ? `Its parts are tasks of their own, done before it: ${own.map(({ id }) => id).join(", ")}` : "",
    ];
    const { criteria: acceptance_criteria = [] } = entry;
    return {
      task_id: entry.id,
      description: description.filter(Boolean).join("\n\n").toWellFormed(),
      ...(dependencies.length > 0 ? { dependencies } : {}),
      ...(acceptance_criteria.length > 0 ? { acceptance_criteria } : {}),
    };
  });
  const gone = entries.length - open.length;
  const summary = [
    `The open entries of ${words} in ${file}${tag === undefined ? "" : `, tag ${tag}`}.`,
    gone > 0 ? `Left out, as done or put off: ${gone}.` : "",
    unlisted.size > 0 ? `Not in the list, so taken as done: ${[...unlisted].join(", ")}.` : "",
  ];
  const plan: PlanFile = { summary: summary.filter(Boolean).join(" ").toWellFormed(), tasks };
  return { source: sourceOf(file, text, plan, open), findings };

  /** The open entries that a name means: one, or none if that is done or the name is wrong. */
  function meant(name: string, entry: Entry, index: number): Entry[] {
    const key = slug(name);
    const found = names.get(key) ?? entries.filter((one) => one.name.startsWith(`${key}-`));
    const [one] = found;
    if (one === undefined && is_partial) {
      unlisted.add(name);
      return [];
    }
    if (one && found.length === 1 && one.state !== "put off") return one.state === "open" ? [one] : [];
    const ids = found.slice(0, 5).map(({ id }) => id);
    const why = ["is not in this list", "is put off or cancelled"][found.length] ?? `may be ${ids.join(" or ")}`;
    const what = `"${entry.title}" depends on "${name}", which ${why}`;
    findings.push({ pointer: `/tasks/${index}`, what, expected: "the id or the text of an entry, or how that begins" });
    return [];
  }
}

function above({ parent }: Entry): Entry[] {
  return parent === undefined ? [] : [parent, ...above(parent)];
}

/** The plan as a document whose findings are shown where the entries are written. */
function sourceOf(file: string, text: string, plan: PlanFile, open: readonly Entry[]): SourceDocument {
  const positionOf = positionsIn(text);
  const position = (pointer: string) => positionOf(open[Number(/^\/tasks\/(\d+)/.exec(pointer)?.[1])]?.offset() ?? 0);
  return {
    file,
    value: plan as unknown as Json,
    position,
    problem: ({ at: _at, unquoted: _unquoted, ...finding }) => ({
      file,
      position: position(finding.pointer),
      ...finding,
    }),
  };
}
