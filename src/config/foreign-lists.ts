import { isJsonObject, type Json, type JsonObject, listOf, objectOf, textOf } from "../lib/json.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import type { Located } from "../protocol/document/located-value.ts";

/** An entry of a list of work. Its texts are data: they become the description of a task and criteria in words, never a command. */
export interface Entry {
  readonly id: string;
  /** Its id or its text as a slug, by which other entries name it. */
  readonly name: string;
  readonly title: string;
  readonly text: string;
  readonly criteria?: readonly string[];
  readonly parent?: Entry | undefined;
  readonly state: "open" | "done" | "put off";
  /** What must be done before it, as written. */
  readonly after: readonly string[];
  /** Where it is written. */
  readonly offset: () => number;
}

/** The entries of a list. It is partial if entries that are done may be missing. */
export interface List {
  readonly entries: readonly Entry[];
  readonly is_partial?: boolean;
  /** The part of the file that they are, if it has several. */
  readonly tag?: string;
}

/** A text as words with `-` between them. */
export function slug(text: string): string {
  return (
    text
      .normalize("NFKD")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).join("-");
}

const ITEM = /^(\s*)(?:[-*+]|\d{1,9}[.)])\s+\[([ xX])\]\s+(\S.*)$/;

/** `(after: a, b)`, `(depends on a, b)`, or a line `Depends on: a, b`. */
const AFTER =
  /\((?:after:|(?:depends on|blocked by):?)\s*([^()]+)\)|^\s*(?:[-*+]\s+)?(?:after|depends on|blocked by):\s*(.+)$/gim;

/** A task list of GitHub's Markdown. An item at the beginning of a line tells the form, because no YAML and no JSON has such a line. */
export function markdownList(text: string): List | undefined {
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
  const above: { readonly entry: Entry; readonly indent: number }[] = [];
  const entries = items.map(({ indent, isDone, offset: at, lines }, index) => {
    while (above.length > 0 && (above.at(-1)?.indent ?? 0) >= indent) above.pop();
    const whole = lines.join("\n");
    const title = (lines[0] ?? "").replaceAll(AFTER, "").trim();
    const name = slug(title.replaceAll(/\]\([^)]*\)/g, "]"));
    const plain = /[a-z0-9][a-z0-9-]{0,47}/.exec(name.replaceAll(/[^a-z0-9-]/g, ""))?.[0] ?? `item-${index + 1}`;
    const id = ids.has(plain) ? `${plain}-${index + 1}` : plain;
    ids.add(id);
    const named = [...whole.matchAll(AFTER)].flatMap(([, one, other = ""]) => (one ?? other).split(/[,;]|\band\b/));
    const after = named.map((one) => one.trim()).filter(Boolean);
    const state: Entry["state"] = isDone ? "done" : "open";
    const entry = { id, name, title, text: whole, parent: above.at(-1)?.entry, state, after, offset: () => at };
    above.push({ entry, indent });
    return entry;
  });
  return { entries };
}

const STATES: Readonly<Record<string, Entry["state"]>> = {
  ...{ done: "done", completed: "done", closed: "done" },
  ...{ cancelled: "put off", deferred: "put off" },
};

/** `tasks.json` of Task Master: `{"tasks": […]}`, or such an object for each tag. Without another sign the tag is `master`, as there. */
export function taskMasterList(_text: string, json: Located | undefined): List | undefined {
  if (!isJsonObject(json?.value)) return undefined;
  const { value } = json;
  const read = (holder: Json | undefined, above: string) => ({ entries: tasksIn(json, objectOf(holder), above) });
  if (isTaskList(value)) return read(value, "");
  const tags = Object.keys(value).filter((name) => isTaskList(value[name]));
  const lists = tags.map((tag) => ({ tag, ...read(value[tag], pointerTo("", tag)) }));
  const [only, ...others] = lists.filter(({ entries }) => entries.some(({ state }) => state === "open"));
  return only && others.length === 0 ? only : (lists.find(({ tag }) => tag === "master") ?? lists[0]);
}

function isTaskList(value: Json | undefined): boolean {
  const { id, title, task_id } = objectOf(listOf(objectOf(value).tasks)[0]);
  return id !== undefined && title !== undefined && task_id === undefined;
}

function tasksIn({ locate }: Located, { tasks }: JsonObject, above: string): Entry[] {
  const entryOf = (task: JsonObject, pointer: string, parent?: Entry, siblings: readonly string[] = []): Entry => {
    const { title, description, details, testStrategy, status } = task;
    // Within a task a bare number means its subtask.
    const wholeId = (one: string) => (parent && siblings.includes(one) ? `${parent.id}.${one}` : one);
    const id = wholeId(idOf(task));
    const texts = [title, description, details].map((text) => textOf(text).trim()).filter(Boolean);
    const after = listOf(task.dependencies).map((one) => wholeId(String(one)));
    const criteria = [textOf(testStrategy).trim()].filter(Boolean);
    const place = { parent, offset: () => locate(pointer)?.value ?? 0 };
    const state = STATES[textOf(status)] ?? "open";
    return { id, name: slug(id), title: textOf(title), text: texts.join("\n\n"), criteria, state, after, ...place };
  };
  return listOf(tasks).flatMap((task, index) => {
    const whole = entryOf(objectOf(task), `${above}/tasks/${index}`);
    const parts = listOf(objectOf(task).subtasks).map(objectOf);
    const ids = parts.map(idOf);
    return [whole, ...parts.map((part, at) => entryOf(part, `${above}/tasks/${index}/subtasks/${at}`, whole, ids))];
  });
}

function idOf({ id }: JsonObject): string {
  return typeof id === "number" ? String(id) : textOf(id);
}

const ISSUES_BEFORE = /\b(?:depends[ -]on|blocked[ -]by)\b[\s:*]*((?:#\d+(?:[\s,&]|and)*)+)/gi;

/** What `gh issue list --json number,title,body,labels` prints: open issues only, and not all of them. */
export function issueList(_text: string, json: Located | undefined): List | undefined {
  const issues = listOf(json?.value).map(objectOf);
  if (typeof issues[0]?.number !== "number" || issues[0].title === undefined) return undefined;
  const entries = issues.map(({ number, title, body, labels, state }, index): Entry => {
    const name = typeof number === "number" ? String(number) : "";
    const words = listOf(labels).flatMap((label) => textOf(objectOf(label).name) || []);
    const about = words.length > 0 ? `Labels: ${words.join(", ")}` : "";
    const text = [`${textOf(title)} (#${name})`, textOf(body).trim(), about].filter(Boolean).join("\n\n");
    const after = [...textOf(body).matchAll(ISSUES_BEFORE)].flatMap(([, list = ""]) => list.match(/#\d+/g) ?? []);
    const place = { after, offset: () => json?.locate(`/${index}`)?.value ?? 0 };
    return {
      id: name && `issue-${name}`,
      name,
      title: textOf(title),
      text,
      state: STATES[textOf(state).toLowerCase()] ?? "open",
      ...place,
    };
  });
  return { entries, is_partial: true };
}
