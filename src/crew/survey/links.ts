import { textWithin } from "../../lib/json.ts";
import { posix } from "node:path";
import { counted, type Finding, type Found, type Item, shown, type Survey } from "./finding.ts";
import { type MarkdownFile, readMarkdown } from "./markdown.ts";
import { inParallel, type Repository, UNREAD } from "./repository.ts";

const MARKDOWN = /\.(?:md|markdown|mdown)$/i;
const FOREIGN = /(?:^|\/)(?:node_modules|vendor|third[_-]party)\//;
const VERIFIED_AT_ONCE = 4;

/** Relative links and anchors in tracked Markdown that lead nowhere in a fresh clone. */
export const links: Survey = { options: {}, find: findLinks, verify: verifyLinks };

type Fault = "missing" | "untracked" | "anchor";

async function findLinks(repository: Repository): Promise<Found> {
  const paths = repository.files.filter((path) => MARKDOWN.test(path) && !FOREIGN.test(path));
  const read = await inParallel(paths, async (path) => ({ path, text: await repository.read(path) }));
  const documents = new Map(read.flatMap(({ path, text }) => (text === undefined ? [] : [[path, readMarkdown(text)]])));
  const folders = foldersOf(repository.files);
  const items: Item[] = [];
  let checked = 0;
  for (const [path, document] of documents) {
    for (const { line, destination } of document.links) {
      const target = targetOf(path, destination);
      if (target === undefined) continue;
      checked += 1;
      const fault = await faultOf(repository, documents, folders, target);
      if (fault !== undefined) items.push(broken(path, line, destination, target, fault));
    }
  }
  const unread = read.length - documents.size;
  return {
    title: "Broken links in Markdown",
    looked_at: `${counted(checked, "relative link")} in ${counted(documents.size, "Markdown file")}; links to other sites were not followed.`,
    notes: unread > 0 ? [`${counted(unread, "Markdown file")} could not be read: ${UNREAD}.`] : [],
    items,
    details: {},
  };
}

interface Target {
  readonly path: string;
  readonly fragment: string;
}

/** The path and anchor in the repository that a destination names; undefined for other sites and templates. */
function targetOf(from: string, destination: string): Target | undefined {
  if (destination === "" || /^[a-z][a-z0-9+.-]*:/i.test(destination) || destination.startsWith("//")) return undefined;
  if (/\{\{|\}\}|\$\{|<%/.test(destination)) return undefined;
  const hash = destination.indexOf("#");
  const before = hash < 0 ? destination : destination.slice(0, hash);
  const path = decoded(before.replace(/\?.*$/s, ""));
  const fragment = hash < 0 ? "" : decoded(destination.slice(hash + 1));
  if (path === "") return { path: from, fragment };
  const absolute = path.startsWith("/") ? path.slice(1) : posix.join(posix.dirname(from), path);
  const normal = posix.normalize(absolute).replace(/\/$/, "");
  // `../../issues` is a page on GitHub, outside of the repository.
  return normal.startsWith("..") ? undefined : { path: normal === "" ? "." : normal, fragment };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function faultOf(
  repository: Repository,
  documents: ReadonlyMap<string, MarkdownFile>,
  folders: ReadonlySet<string>,
  target: Target,
): Promise<Fault | undefined> {
  if (!repository.isTracked(target.path) && !folders.has(target.path)) {
    return (await repository.exists(target.path)) ? "untracked" : "missing";
  }
  const document = documents.get(target.path);
  if (target.fragment === "" || document === undefined) return undefined;
  const name = target.fragment.toLowerCase();
  const known =
    document.anchors.has(name) || name === "top" || /^l\d+(?:-l?\d+)?$/.test(name) || name.startsWith(":~:");
  return known || document.anchors.has(name.replace(/^user-content-/, "")) ? undefined : "anchor";
}

function broken(file: string, line: number, destination: string, target: Target, fault: Fault): Item {
  const text = {
    missing: `links to ${shown(destination)}, but there is no ${shown(target.path)}`,
    untracked: `links to ${shown(destination)}, which git does not track`,
    anchor: `links to ${shown(destination)}, but ${shown(target.path)} has no heading or id "${shown(target.fragment)}"`,
  }[fault];
  return {
    severity: "medium",
    file,
    line,
    text,
    claim: { fault, destination, target: target.path, fragment: target.fragment },
  };
}

function foldersOf(files: readonly string[]): Set<string> {
  const folders = new Set(["."]);
  for (const file of files) {
    for (let folder = posix.dirname(file); !folders.has(folder); folder = posix.dirname(folder)) folders.add(folder);
  }
  return folders;
}

/** Checks that the line holds the link, that git does not list the target, and that no line of the target looks like the heading. */
async function verifyLinks({ items }: Finding, repository: Repository): Promise<string[]> {
  const wrong = await inParallel(
    items,
    async ({ file, line, claim }) => {
      const where = `${shown(file)}:${line ?? 0}`;
      const written = ((await repository.read(file)) ?? "").split(/\r?\n/)[(line ?? 0) - 1] ?? "";
      const destination = textWithin(claim["destination"]);
      if (!written.replaceAll("\\", "").includes(destination.replaceAll("\\", "")))
        return [`${where} has no link to ${shown(destination)}`];
      const target = textWithin(claim["target"]);
      const listed = target === "." ? "." : await repository.git(["ls-files", "-z", "--", `:(top,literal)${target}`]);
      if (claim["fault"] !== "anchor") return listed === "" ? [] : [`${where}: git has ${shown(target)}`];
      const wanted = textWithin(claim["fragment"]).toLowerCase();
      const lines = ((await repository.read(target)) ?? "").split(/\r?\n/);
      const heading = lines.findIndex((candidate) => /^ {0,3}#/.test(candidate) && roughAnchor(candidate) === wanted);
      return heading < 0 ? [] : [`${where}: ${shown(target)}:${heading + 1} is the heading it leads to`];
    },
    VERIFIED_AT_ONCE,
  );
  return wrong.flat();
}

function roughAnchor(heading: string): string {
  const words = heading.toLowerCase().replace(/^[\s#]+|[\s#]+$/g, "");
  return words.replace(/[^\p{L}\p{M}\p{N}_ -]/gu, "").replaceAll(" ", "-");
}
