/** A link in a Markdown file. The destination has no `<>` and no escapes. */
export interface Link {
  readonly line: number;
  readonly destination: string;
}

export interface MarkdownFile {
  readonly links: readonly Link[];
  /** Headings as GitHub's anchors, and the ids of HTML elements. */
  readonly anchors: ReadonlySet<string>;
}

const FENCE = /^ {0,3}(?:>\s?)*(?:[-*+]\s+|\d+[.)]\s+)*(`{3,}|~{3,})(.*)$/;
const DEFINITION = /^ {0,3}\[(?!\^)((?:\\.|[^\]\\])+)\]:\s*(?:<([^>]*)>|(\S+))/;
const HTML_LINK = /<(?:a|img)\b[^<>]*?\b(?:href|src)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi;
const HTML_ANCHOR = /<[a-z][^<>]*?\b(?:id|name)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi;
const HEADING = /^ {0,3}#{1,6}(?=\s|$)/;
const UNDERLINE = /^ {0,3}(?:=+|-{2,})\s*$/;
/** The rest of a longer line is not read. */
const MAX_LINE = 20_000;
const MAX_DESTINATION = 2000;

/** Reads the links and anchors of a Markdown text, outside of code blocks, code spans and comments. Takes linear time. */
export function readMarkdown(text: string): MarkdownFile {
  const links: Link[] = [];
  const anchors = new Set<string>();
  const slugs = new Map<string, number>();
  let previous = "";
  for (const { line, number } of proseLines(text)) {
    const heading = headingOf(line) ?? (UNDERLINE.test(line) && previous.trim() !== "" ? previous : undefined);
    if (heading !== undefined) anchors.add(unique(slug(heading), slugs));
    const plain = withoutCode(line);
    for (const [, one, two] of plain.matchAll(HTML_ANCHOR)) anchors.add((one ?? two ?? "").toLowerCase());
    for (const [, one, two] of plain.matchAll(HTML_LINK)) links.push({ line: number, destination: one ?? two ?? "" });
    const definition = DEFINITION.exec(plain);
    if (definition !== null) links.push({ line: number, destination: unescape(definition[2] ?? definition[3] ?? "") });
    else for (const destination of inlineLinks(plain)) links.push({ line: number, destination });
    previous = headingOf(line) === undefined ? line : "";
  }
  return { links, anchors };
}

/** The lines outside of code blocks and comments, numbered from 1. */
function* proseLines(text: string): Generator<{ line: string; number: number }> {
  let fence: string | undefined;
  let comment = false;
  let list = false;
  let blank = true;
  let code = false;
  for (const [index, whole] of text.split(/\r?\n/).entries()) {
    const line = whole.slice(0, MAX_LINE);
    const mark = FENCE.exec(line);
    if (fence !== undefined) {
      if (mark?.[1]?.startsWith(fence) === true && mark[2]?.trim() === "") fence = undefined;
      continue;
    }
    if (!comment && mark?.[1] !== undefined && !(mark[1].startsWith("`") && mark[2]?.includes("`") === true)) {
      fence = mark[1];
      continue;
    }
    if (/^\s*(?:[-*+]|\d+[.)])\s/.test(line)) list = true;
    else if (/^\S/.test(line)) list = false;
    const indented: boolean = /^(?: {4}|\t)/.test(line) && !list && (code || blank);
    blank = line.trim() === "";
    code = indented || (code && blank);
    if (indented) continue;
    const { rest, open } = withoutComments(line, comment);
    comment = open;
    yield { line: rest, number: index + 1 };
  }
}

function withoutComments(line: string, within: boolean): { rest: string; open: boolean } {
  let rest = "";
  let open = within;
  for (let at = 0; at < line.length; ) {
    const mark = line.indexOf(open ? "-->" : "<!--", at);
    if (!open) rest += line.slice(at, mark < 0 ? undefined : mark);
    if (mark < 0) break;
    at = mark + (open ? 3 : 4);
    open = !open;
  }
  return { rest, open };
}

/** The line without its code spans: a span ends at as many backticks as it starts with. */
function withoutCode(line: string): string {
  if (!line.includes("`")) return line;
  const runs = [...line.matchAll(/`+/g)];
  let result = "";
  let done = 0;
  for (let index = 0; index < runs.length; index += 1) {
    const opening = runs[index];
    if (opening === undefined || opening.index < done || line[opening.index - 1] === "\\") continue;
    const closing = runs.slice(index + 1).find((run) => run[0].length === opening[0].length);
    if (closing === undefined) continue;
    result += line.slice(done, opening.index) + "`";
    done = closing.index + closing[0].length;
  }
  return result + line.slice(done);
}

function headingOf(line: string): string | undefined {
  const mark = HEADING.exec(line)?.[0];
  if (mark === undefined) return undefined;
  return line
    .slice(mark.length)
    .trim()
    .replace(/(?:^|\s)#+$/, "");
}

/** The destinations of `[text](destination "title")` and of images. A destination may hold balanced parentheses. */
function inlineLinks(line: string): string[] {
  const found: string[] = [];
  let open = 0;
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at];
    if (character === "\\") at += 1;
    else if (character === "[") open += 1;
    else if (character === "]" && open > 0) {
      open -= 1;
      if (line[at + 1] !== "(") continue;
      const rest = line.slice(at + 2, at + 2 + MAX_DESTINATION).trimStart();
      const destination = /^<((?:\\.|[^<>\\])*)>/.exec(rest)?.[1] ?? balanced(rest);
      if (destination !== undefined) found.push(unescape(destination));
    }
  }
  return found;
}

function balanced(rest: string): string | undefined {
  let depth = 0;
  for (let at = 0; at < rest.length; at += 1) {
    const character = rest[at];
    if (character === "\\") at += 1;
    else if (character === "(") depth += 1;
    else if (character === ")" && depth-- === 0) return rest.slice(0, at);
    else if (character === " " || character === "\t")
      return /^\s*(?:"|'|\(|\))/.test(rest.slice(at)) ? rest.slice(0, at) : undefined;
  }
  return undefined;
}

function unescape(text: string): string {
  return text.replace(/\\([!-/:-@[-`{-~])/g, "$1");
}

/** The anchor that GitHub gives a heading (docs.github.com, "section links"). */
export function slug(heading: string): string {
  return heading
    .replace(/!?\[((?:\\.|[^[\]\\])*)\]\([^()]*\)/g, "$1")
    .replace(/<[^<>]*>/g, "")
    .replace(/[*`~]/g, "")
    .replace(/_+/g, (run, at: number, whole: string) =>
      inWord(whole, at - 1) && inWord(whole, at + run.length) ? run : "",
    )
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");
}

/** An underscore between letters belongs to the word; around a word it is emphasis. */
function inWord(text: string, at: number): boolean {
  return /[\p{L}\p{N}]/u.test(text[at] ?? "");
}

function unique(name: string, seen: Map<string, number>): string {
  const count = seen.get(name);
  seen.set(name, (count ?? 0) + 1);
  return count === undefined ? name : `${name}-${count}`;
}
