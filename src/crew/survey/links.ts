import { posix } from "node:path";
import { textWithin } from "../../lib/json.ts";
import { checkEach, counted, type Finding, type Found, type Item, shown } from "./finding.ts";
import { type MarkdownFile, readMarkdown, slug } from "./markdown.ts";
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
