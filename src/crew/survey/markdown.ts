/** A link in a Markdown file. */
export interface Link {
  readonly line: number;
  readonly destination: string;
}

export interface MarkdownFile {
  readonly links: readonly Link[];
  /** Headings as GitHub's anchors, and the ids of HTML elements. */
  readonly anchors: ReadonlySet<string>;
}

// Every expression takes linear time. Rare forms are missed, such as link text on two lines or parentheses in a destination: a false finding is worse
// than a missed one.
const COMMENT = /<!--[\s\S]*?(?:-->|$(?![\s\S]))/gm;
const FENCED = /^[ \t>]*(`{3,}|~{3,}).*\n[\s\S]*?(?:^[ \t>]*\1.*|$(?![\s\S]))/gm;
const INDENTED = /^(?: {4}|\t).*$/gm;
const CODE_SPAN = /(?<!`)(`+)[^`\n]+\1/g;
const INLINE_LINK = /(?<!\\)\[[^[\]\n]*\]\([ \t]*(<[^<>]+>|[^\s()<>\\]+)(?:[ \t]+(?:"[^"]*"|'[^']*'))?\)/g;
const DEFINITION = /^ {0,3}\[(?!\^)[^\]]+\]:[ \t]*<?([^\s<>]+)/g;
const HTML_LINK = /<(?:a|img)\b[^<>]*?\b(?:href|src)\s*=\s*["']([^"']*)["']/gi;
const HTML_ANCHOR = /\b(?:id|name)\s*=\s*["']([^"'\n]*)["']/gi;
const HEADING = /^ {0,3}#{1,6}[ \t](.*)$/gm;
const UNDERLINED_HEADING = /^(.+)\n {0,3}(?:=+|-{2,})[ \t]*$/gm;

/** Reads the links and anchors of a Markdown text, outside of code and comments. */
export function readMarkdown(text: string): MarkdownFile {
  const prose = `${text.replaceAll("\r\n", "\n")}\n`.replace(FENCED, blank).replace(COMMENT, blank);
  const links = prose
    .replace(INDENTED, "")
    .replace(CODE_SPAN, "`")
    .split("\n")
    .flatMap((content, index) =>
      [INLINE_LINK, DEFINITION, HTML_LINK]
        .flatMap((form) => [...content.matchAll(form)])
        .map(([, destination = ""]) => ({ line: index + 1, destination: destination.replace(/^<|>$/g, "") })),
    );
  const anchors = new Set([...prose.matchAll(HTML_ANCHOR)].map(([, id = ""]) => id.toLowerCase()));
  const seen = new Map<string, number>();
  for (const [, heading = ""] of [...prose.matchAll(HEADING), ...prose.matchAll(UNDERLINED_HEADING)]) {
    const name = slug(heading);
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    anchors.add(count === 0 ? name : `${name}-${count}`);
  }
  return { links, anchors };
}

/** Removes everything but the newlines, so that later lines keep their numbers. */
function blank(text: string): string {
  return text.replace(/[^\n]+/g, "");
}

/** The anchor that GitHub gives a heading (docs.github.com, "section links"). */
export function slug(heading: string): string {
  return heading
    .trim()
    .replace(/(?:^|\s)#+$/, "")
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, "$1")
    .replace(/<[^<>]*>/g, "")
    .replace(/(?<![\p{L}\p{N}_])_+|(?<!_)_+(?![\p{L}\p{N}_])/gu, "")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");
}
