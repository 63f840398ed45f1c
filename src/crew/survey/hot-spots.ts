import { checkEach, counted, type Finding, type Found, type Options, shown } from "./finding.ts";
import { type Repository, UNREAD } from "./repository.ts";
import { ownSourceFiles, saysGenerated } from "./source-files.ts";

const DEFAULT_SINCE = "1 year";
const DEFAULT_TOP = "20";
/** Maximum number of commits read: git compares the files of each commit. */
const MAX_COMMITS = 5000;

/** `--since` is a time as git reads it, such as "90 days", or "all". */
export const options = { since: { type: "string" }, top: { type: "string" } } as const;

/** Ranks files by the number of commits that touched them, times their lines. A renamed file starts afresh. */
export async function find(repository: Repository, _directory: string, given: Options): Promise<Found> {
  const words = given["since"] ?? DEFAULT_SINCE;
  const since = words.toLowerCase() === "all" ? undefined : words;
  const top = Number(given["top"] ?? DEFAULT_TOP);
  const files = ownSourceFiles(repository);
  const { commits, changes } = await readHistory(repository, since);
  const touched = files.flatMap((path) => {
    const own = changes.get(path);
    return own === undefined ? [] : [{ path, own, text: repository.read(path) }];
  });
  const ranked = touched
    .flatMap(({ path, own, text }) => {
      if (text === undefined || saysGenerated(text)) return [];
      const sum = (key: "added" | "deleted") => own.reduce((total, change) => total + change[key], 0);
      const lines = text.split("\n").length - (text === "" || text.endsWith("\n") ? 1 : 0);
      const claim = { commits: own.length, added: sum("added"), deleted: sum("deleted"), lines };
      return [{ path, claim: { ...claim, score: claim.commits * lines } }];
    })
    .toSorted((one, other) => other.claim.score - one.claim.score || (one.path < other.path ? -1 : 1));
  const unread = touched.filter(({ text }) => text === undefined).length;
  const limited = commits === MAX_COMMITS;
  const span = since === undefined ? "all of the history" : `the last ${words}`;
  return {
    title: "Hot spots: where change and size meet",
    looked_at: `${counted(files.length, "source file")} and ${counted(commits, "commit")} of ${span}; ${ranked.length + unread} of the files were changed.`,
    notes: [
      ...(repository.shallow ? ["This is a shallow clone: the counts are lower bounds."] : []),
      ...(limited ? [`Only the newest ${MAX_COMMITS} commits were read.`] : []),
      ...(unread > 0 ? [`${unread} of the changed files could not be read: ${UNREAD}.`] : []),
      ...(repository.head === undefined ? ["There is no commit yet."] : []),
      ...(repository.head !== undefined && commits === 0 ? ["No commit is that recent; try a longer time."] : []),
    ],
    items: ranked.slice(0, top).map(({ path, claim }) => ({
      severity: "low",
      file: path,
      text: `changed in ${claim.commits} of ${counted(commits, "commit")}, ${counted(claim.lines, "line")} long (+${claim.added} −${claim.deleted})`,
      claim,
    })),
    details: { since: since ?? null, lower_bounds: limited || repository.shallow },
  };
}

/** The commits since a time, and the changes of each file in them. */
async function readHistory(repository: Repository, since: string | undefined) {
  const window = [`--max-count=${MAX_COMMITS}`, ...(since === undefined ? [] : [`--since=${since}`])];
  const format = ["--no-merges", "--numstat", "--no-renames", "--no-mailmap", "-z", "--format=tformat:commit %H"];
  const log = repository.head === undefined ? "" : await repository.git(["log", ...window, ...format, "HEAD", "--"]);
  const entries = log.split("\0");
  const changes = entries.flatMap((entry) => {
    const [, added, deleted, path] = /^\n?(\d+|-)\t(\d+|-)\t([\s\S]+)$/.exec(entry) ?? [];
    // Binary files have "-".
    return path === undefined ? [] : [{ path, added: Number(added) || 0, deleted: Number(deleted) || 0 }];
  });
  const commits = entries.filter((entry) => /^commit [0-9a-f]{40,64}$/.test(entry)).length;
  return { commits, changes: Map.groupBy(changes, ({ path }) => path) };
}

/** Asks git about each file separately: it counts the commits, and the lines by matching each of them. */
export function verify({ items, details }: Finding, repository: Repository): Promise<string[]> {
  const { since, lower_bounds: lowerBounds } = details;
  const window = typeof since === "string" ? [`--since=${since}`] : [];
  return checkEach(items, async ({ file, claim }) => {
    const path = ["--", `:(top,literal)${file}`];
    const count = ["rev-list", "--count", "--full-history", "--no-merges", ...window, "HEAD"] as const;
    const commits = Number(await repository.git([...count, ...path]));
    const matched = await repository.git(["grep", "-z", "-a", "-c", "-e", "", ...path]).catch((error: Error) => {
      // The exit code of a search without matches.
      if ((error.cause as { exitCode?: unknown }).exitCode === 1) return "";
      throw error;
    });
    const lines = Number(matched.slice(matched.lastIndexOf("\0") + 1));
    const [claimed, claimedLines] = [Number(claim["commits"]), Number(claim["lines"])];
    const holds = lowerBounds === true ? commits >= claimed : commits === claimed;
    return [
      ...(holds ? [] : [`${shown(file)} has ${commits} commits, not ${claimed}`]),
      ...(lines === claimedLines ? [] : [`${shown(file)} has ${lines} lines, not ${claimedLines}`]),
    ];
  });
}
