import { posix } from "node:path";
import { textWithin } from "../../lib/json.ts";
import { checkEach, counted, type Finding, type Found, type Item, shown } from "./finding.ts";
import { type Repository, UNREAD, unlessFailed } from "./repository.ts";

const MARKDOWN = /\.(?:md|markdown|mdown)$/i;
const FOREIGN = /(?:^|\/)(?:node_modules|vendor|third[_-]party)\//;

/** Relative links and anchors in tracked Markdown that lead nowhere in a fresh clone. */
export function find(repository: Repository): Found {
  const paths = repository.files.filter((path) => MARKDOWN.test(path) && !FOREIGN.test(path));
  const documents = new Map(
    paths.flatMap((path) => {
      const text = repository.read(path);
      return text === undefined ? [] : [[path, readMarkdown(text)] as const];
    }),
  );
  const items: Item[] = [];
  let checked = 0;
  for (const [file, document] of documents) {
    for (const { line, destination } of document.links) {
      const target = targetOf(file, destination);
      if (target === undefined) continue;
      checked += 1;
      const [fault, why] = faultOf(repository, documents.get(target.path), target);
      if (fault === undefined) continue;
      const text = `links to ${shown(destination)}, ${why}`;
      const claim = { fault, destination, target: target.path, fragment: target.fragment };
      items.push({ severity: "medium", file, line, text, claim });
    }
  }
  const unread = paths.length - documents.size;
  return {
    title: "Broken links in Markdown",
    looked_at: `${counted(checked, "relative link")} in ${counted(documents.size, "Markdown file")}; links to other sites were not followed.`,
    notes: unread > 0 ? [`${counted(unread, "Markdown file")} could not be read: ${UNREAD}.`] : [],
    items,
  };
}

type Target = NonNullable<ReturnType<typeof targetOf>>;

/** The path and anchor in the repository that a destination names; undefined for other sites and templates. */
function targetOf(from: string, destination: string) {
  if (destination === "" || /^[a-z][a-z0-9+.-]*:/i.test(destination) || destination.startsWith("//")) return undefined;
  if (/\{\{|\}\}|\$\{|<%/.test(destination)) return undefined;
  const [, written = "", anchor = ""] = /^([^?#]*)[^#]*#?(.*)$/s.exec(destination) ?? [];
  const [path, fragment] = [decoded(written), decoded(anchor)];
  if (path === "") return { path: from, fragment };
  const absolute = path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(from), path);
  const normal = posix.normalize(absolute).replace(/\/$/, "");
  // `../../issues` is a page on GitHub, outside of the repository.
  return normal.startsWith("..") ? undefined : { path: normal === "" ? "." : normal, fragment };
}

function decoded(text: string): string {
  return unlessFailed(() => decodeURIComponent(text)) ?? text;
}

/** What is wrong with a target, as a word for programs and in words for people; empty if nothing is. */
function faultOf(
  repository: Repository,
  document: MarkdownFile | undefined,
  { path, fragment }: Target,
): [fault?: string, why?: string] {
  if (!repository.isTracked(path)) {
    if (repository.exists(path)) return ["untracked", "which git does not track"];
    return ["missing", `but there is no ${shown(path)}`];
  }
  const name = fragment.toLowerCase();
  // A browser's own fragments, and GitHub's for lines.
  if (document === undefined || /^(?:|top|l\d+(?:-l?\d+)?|:~:.*)$/s.test(name)) return [];
  if (document.anchors.has(name) || document.anchors.has(name.replace(/^user-content-/, ""))) return [];
  return ["anchor", `but ${shown(path)} has no heading or id "${shown(fragment)}"`];
}

/** Checks that the line holds the link, that git does not list the target, and that no line of the target looks like the heading. */
export function verify({ items }: Finding, repository: Repository): Promise<string[]> {
  const linesOf = (path: string) => (repository.read(path) ?? "").split(/\r?\n/);
  return checkEach(items, async ({ file, line = 0, claim }) => {
    const where = `${shown(file)}:${line}`;
    const written = (linesOf(file)[line - 1] ?? "").replaceAll("\\", "");
    const destination = textWithin(claim["destination"]);
    if (!written.includes(destination.replaceAll("\\", ""))) return [`${where} has no link to ${shown(destination)}`];
    const target = textWithin(claim["target"]);
    const listed = target === "." ? "." : await repository.git(["ls-files", "-z", "--", `:(top,literal)${target}`]);
    if (claim["fault"] !== "anchor") return listed === "" ? [] : [`${where}: git has ${shown(target)}`];
    const wanted = textWithin(claim["fragment"]).toLowerCase();
    const isWanted = (text: string) => /^ {0,3}#/.test(text) && slug(text.replace(/^[\s#]+/, "")) === wanted;
    const heading = linesOf(target).findIndex(isWanted);
    return heading < 0 ? [] : [`${where}: ${shown(target)}:${heading + 1} is the heading it leads to`];
  });
}

/** A link in a Markdown file. */
interface Link {
  readonly line: number;
  readonly destination: string;
}

interface MarkdownFile {
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
