import { isJsonObject, type Json, type JsonObject, listOf, objectOf, textOf } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import type { SourceDocument } from "../protocol/document/document.ts";
import { type Located, readLocated } from "../protocol/document/located-value.ts";
import type { Finding } from "../protocol/document/problem.ts";
import { positionsIn } from "../protocol/document/source-text.ts";
import type { PlanFile, Task } from "../protocol/payload.ts";

/** An entry of a list. Its texts are data: they become a description and criteria in words, never a command. */
interface Entry {
  readonly id: string;
  /** Its id or its text as a slug, by which others name it in `after`. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
  readonly criteria?: readonly string[];
  readonly parent?: Entry | undefined;
  readonly state: "open" | "done" | "put off";
  readonly after: readonly string[];
  readonly offset: () => number;
}

/** Entries, and which part of the file they are. */
type List = { readonly entries: readonly Entry[]; readonly tag?: string } | undefined;

/** The forms by the name that is recorded: words for each, and its reader, which returns undefined for what has another form. */
const FORMS = {
  markdown: ["a Markdown task list", markdownList],
  task_master: ["Task Master's tasks", taskMasterList],
  github_issues: ["GitHub issues", issueList],
} as const;

/**
 * The plan in a list of work that another program wrote, whose form the content tells, and why it is none; undefined for anything else. The places
 * of `source` are those of the list.
 */
export function foreignPlan(file: string, text: string) {
  // JSON is read as such whatever the file is called: the YAML parser takes a hundred times as long.
  const read = /^\s*[[{]/.test(text) ? readLocated(text, "json", "typed") : undefined;
  for (const [format, [words, listIn]] of Object.entries(FORMS)) {
    const list = listIn(text, read?.ok ? read.value : undefined);
    if (list) return { format, ...planOf(file, text, words, list, format === "github_issues") };
  }
  return undefined;
}

/** The open entries as tasks. Of a partial list, entries that are done may be missing. */
function planOf(file: string, text: string, words: string, { entries, tag }: NonNullable<List>, isPartial: boolean) {
  const open = entries.filter(({ state }) => state === "open");
  const parts = Map.groupBy(open, ({ parent }) => parent);
  const ids = Map.groupBy(entries, ({ id }) => id);
  const names = Map.groupBy(entries, ({ name }) => name);
  const unlisted = new Set<string>();
  const findings: Finding[] = [];
  if (open.length === 0)
    findings.push({ pointer: "", what: "no entry of this list is left to do", expected: "an entry that is open" });
  const before = new Map(open.map((entry, index) => [entry, entry.after.flatMap((name) => meant(name, entry, index))]));
  const tasks = open.map((entry): Task => {
    const own = parts.get(entry) ?? [];
    // What a whole waits for, its parts wait for.
    const inherited = above(entry).flatMap((whole) =>
      (before.get(whole) ?? []).filter((one) => !above(one).includes(whole)),
    );
    const dependencies = [...new Set([...(before.get(entry) ?? []), ...inherited, ...own].map(({ id }) => id))];
    const partsWords = `Its parts are tasks of their own, done before it: ${own.map(({ id }) => id).join(", ")}`;
    return {
      task_id: entry.id,
      description: joined([
        entry.text,
        entry.parent && `Part of: ${entry.parent.title}`,
        own.length > 0 ? partsWords : "",
      ]),
      ...(dependencies.length > 0 ? { dependencies } : {}),
      ...(entry.criteria?.length ? { acceptance_criteria: entry.criteria } : {}),
    };
  });
  const gone = entries.length - open.length;
  const left = gone > 0 ? ` Left out, as done or put off: ${gone}.` : "";
  const missing = unlisted.size > 0 ? ` Not in the list, so taken as done: ${[...unlisted].join(", ")}.` : "";
  const summary =
    `The open entries of ${words}${tag === undefined ? "" : `, tag ${tag}`}.${left}${missing}`.toWellFormed();
  return { source: sourceOf(file, text, { summary, tasks }, open), findings };

  /** The open entries that a name means: one, or none if that is done or the name is wrong. */
  function meant(name: string, entry: Entry, index: number): Entry[] {
    const key = slug(name);
    if (isPartial && !names.has(key)) {
      unlisted.add(name);
      return [];
    }
    const found = ids.get(name) ?? names.get(key) ?? entries.filter((one) => one.name.startsWith(`${key}-`));
    const [one] = found;
    if (one && found.length === 1 && one.state !== "put off") return one.state === "open" ? [one] : [];
    const some = found.slice(0, 5).map(({ id }) => id);
    const why = ["is not in this list", "is put off or cancelled"][found.length] ?? `may be ${some.join(" or ")}`;
    const what = `"${entry.title}" depends on "${name}", which ${why}`;
    const expected = one ? "one entry that is open or done" : "the id or the text of an entry, or how that begins";
    findings.push({ pointer: `/tasks/${index}`, what, expected });
    return [];
  }
}

function above({ parent }: Entry): Entry[] {
  return parent === undefined ? [] : [parent, ...above(parent)];
}

/** The plan as a document whose findings are shown where the entries are written. */
function sourceOf(file: string, text: string, plan: PlanFile, open: readonly Entry[]): SourceDocument {
  const at = positionsIn(text);
  const position = (pointer: string) => at(open[Number(/^\/tasks\/(\d+)/.exec(pointer)?.[1])]?.offset() ?? 0);
  const problem = ({ at: _at, unquoted: _unquoted, ...finding }: Finding) => {
    return { file, position: position(finding.pointer), ...finding };
  };
  return { file, value: plan, position, problem };
}

/** A text as words with `-` between them. */
function slug(text: string): string {
  return (
    text
      .normalize("NFKD")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).join("-");
}

function joined(texts: readonly (Json | undefined)[]): string {
  const known = texts.map((text) => textOf(text).trim()).filter(Boolean);
  return known.join("\n\n").toWellFormed();
}

const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[([ xX])\]\s+(\S.*)$/;

/** `(after: a, b)`, `(depends on a, b)`, or a line `Depends on: a, b`. */
const AFTER =
  /\((?:after:|(?:depends on|blocked by):?)\s*([^()]+)\)|^[ \t]*(?:[-*+][ \t]+)?(?:after|depends on|blocked by):\s*(.+)$/gim;

/** A task list of GitHub's Markdown. An item at the beginning of a line tells the form: no YAML and no JSON has such a line. */
function markdownList(text: string): List {
  if (!/^(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX]\][ \t]+\S/m.test(text)) return undefined;
  const items: { indent: number; isDone: boolean; offset: number; lines: string[] }[] = [];
  let [offset, isFenced, isOpen, wasBlank] = [0, false, false, false];
  for (const line of text.split("\n")) {
    const [, , mark, title] = (isFenced ? null : ITEM.exec(line.trimEnd())) ?? [];
    const indent = (/^\s*/.exec(line)?.[0] ?? "").replaceAll("\t", "    ").length;
    const isBlank = line.trim() === "";
    const within = isBlank || indent > (items.at(-1)?.indent ?? 0) || !(wasBlank || /^\s*(?:[-*+]\s|#)/.test(line));
    isOpen = title !== undefined || (isOpen && within);
    if (title !== undefined) items.push({ indent, isDone: mark !== " ", offset, lines: [title] });
    else if (isOpen) items.at(-1)?.lines.push(line.trimEnd());
    if (/^\s*(?:```|~~~)/.test(line)) isFenced = !isFenced;
    wasBlank = isBlank;
    offset += line.length + 1;
  }
  const ids = new Set<string>();
  const wholes: { readonly entry: Entry; readonly indent: number }[] = [];
  const entries = items.map(({ indent, isDone, offset: at, lines }, index) => {
    while (wholes.length > 0 && (wholes.at(-1)?.indent ?? 0) >= indent) wholes.pop();
    const whole = lines.join("\n");
    const title = (lines[0] ?? "").replaceAll(AFTER, "").trim();
    const name = slug(title.replaceAll(/\]\([^)]*\)/g, "]"));
    const plain = /[a-z0-9][a-z0-9-]{0,47}/.exec(name.replaceAll(/[^a-z0-9-]/g, ""))?.[0] ?? `item-${index + 1}`;
    const id = ids.has(plain) ? `${plain}-${index + 1}` : plain;
    ids.add(id);
    const named = [...whole.matchAll(AFTER)].flatMap(([, one, other = ""]) => (one ?? other).split(/[,;]|\band\b/));
    const after = named.map((one) => one.trim()).filter(Boolean);
    const state: Entry["state"] = isDone ? "done" : "open";
    const entry = { id, name, title, text: whole, parent: wholes.at(-1)?.entry, state, after, offset: () => at };
    wholes.push({ entry, indent });
    return entry;
  });
  return { entries };
}

/** The states in which nothing is left to do, of tasks and issues. */
const STATES: ReadonlyMap<string, Entry["state"]> = new Map([
  ...["done", "completed", "closed"].map((word) => [word, "done"] as const),
  ...["cancelled", "deferred"].map((word) => [word, "put off"] as const),
]);

/** `tasks.json` of Task Master: `{"tasks": […]}`, or such an object by tag. Of several tags with open tasks it is `master`, the default there. */
function taskMasterList(_text: string, json: Located | undefined): List {
  if (!isJsonObject(json?.value)) return undefined;
  const { value } = json;
  if (isTaskList(value)) return { entries: tasksIn(json, value, "") };
  const tags = Object.keys(value).filter((name) => isTaskList(value[name]));
  const lists = tags.map((tag) => ({ tag, entries: tasksIn(json, objectOf(value[tag]), pointerTo("", tag)) }));
  const open = lists.filter(({ entries }) => entries.some(({ state }) => state === "open"));
  return open.length === 1 ? open[0] : (lists.find(({ tag }) => tag === "master") ?? lists[0]);
}

function isTaskList(value: Json | undefined): boolean {
  const { id, title, task_id } = objectOf(listOf(objectOf(value).tasks)[0]);
  return id !== undefined && title !== undefined && task_id === undefined;
}

function tasksIn({ locate }: Located, { tasks }: JsonObject, at: string): Entry[] {
  const idOf = (id: Json | undefined) => (typeof id === "number" ? String(id) : textOf(id));
  const entryOf = (task: JsonObject, pointer: string, parent?: Entry, parts: readonly string[] = []): Entry => {
    const { title, description, details, testStrategy, status } = task;
    // Within a task a bare number means its subtask.
    const wholeId = (id: string) => (parent && parts.includes(id) ? `${parent.id}.${id}` : id);
    const id = wholeId(idOf(task.id));
    const after = listOf(task.dependencies).map((one) => wholeId(idOf(one)));
    const criteria = [joined([testStrategy])].filter(Boolean);
    const texts = { title: textOf(title) || id, text: joined([title, description, details]), criteria };
    const state = STATES.get(textOf(status)) ?? "open";
    return { id, name: slug(id), ...texts, parent, state, after, offset: () => locate(pointer)?.value ?? 0 };
  };
  return listOf(tasks).flatMap((task, index) => {
    const whole = entryOf(objectOf(task), `${at}/tasks/${index}`);
    const parts = listOf(objectOf(task).subtasks).map(objectOf);
    const ids = parts.map((part) => idOf(part.id));
    return [
      whole,
      ...parts.map((part, number) => entryOf(part, `${at}/tasks/${index}/subtasks/${number}`, whole, ids)),
    ];
  });
}

const ISSUES_BEFORE = /\b(?:depends[ -]on|blocked[ -]by)\b[\s:*]*((?:#\d+(?:[\s,&]|and)*)+)/gi;

/** What `gh issue list --json number,title,body,labels` prints. */
function issueList(_text: string, json: Located | undefined): List {
  const issues = listOf(json?.value).map(objectOf);
  if (typeof issues[0]?.number !== "number" || issues[0].title === undefined) return undefined;
  const entries = issues.map(({ number, title, body, labels, state }, index): Entry => {
    const name = typeof number === "number" ? String(number) : "";
    const words = listOf(labels).flatMap((label) => textOf(objectOf(label).name) || []);
    return {
      id: name && `issue-${name}`,
      name,
      title: textOf(title),
      text: joined([`${textOf(title)} (#${name})`, body, words.length > 0 ? `Labels: ${words.join(", ")}` : ""]),
      state: STATES.get(textOf(state).toLowerCase()) ?? "open",
      after: [...textOf(body).matchAll(ISSUES_BEFORE)].flatMap(([, list = ""]) => list.match(/#\d+/g) ?? []),
      offset: () => json?.locate(`/${index}`)?.value ?? 0,
    };
  });
  return { entries };
}
