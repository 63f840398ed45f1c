import type { Ask, Finding, Survey } from "./finding.ts";
import { counted, shown } from "./finding.ts";
import type { Repository } from "./repository.ts";
import { gitRecords, inParallel, UNREAD } from "./repository.ts";
import { ownSourceFiles, saysGenerated } from "./source-files.ts";

const DEFAULT_SINCE = "1 year";
const DEFAULT_TOP = 20;
const MOST_TOP = 1000;
/** Reading the history stops here; the newest commits come first, so what has been read is the latest of it. */
const LOG_TIME_LIMIT_MS = 20_000;
const DAYS: Readonly<Record<string, number>> = { day: 1, week: 7, month: 30, year: 365 };
const DAY_MS = 24 * 60 * 60 * 1000;
const VERIFIED_AT_ONCE = 4;

interface Churn {
  commits: number;
  added: number;
  deleted: number;
}

/** Where change and size meet: commits that touched a file in a window of history, times its lines. A rename starts a file's count anew. */
export const hotSpots: Survey = {
  options: { since: { type: "string" }, top: { type: "string" } },
  find: findHotSpots,
  verify: verifyHotSpots,
};

async function findHotSpots(repository: Repository, { options }: Ask): Promise<Finding> {
  const words = typeof options["since"] === "string" ? options["since"] : DEFAULT_SINCE;
  const since = windowStart(words, Date.now());
  const top = topOf(options["top"]);
  const files = await ownSourceFiles(repository);
  const history =
    repository.head === undefined
      ? { commits: 0, cut: false, churn: new Map<string, Churn>() }
      : await readHistory(repository, since);
  const touched = files.flatMap((path) => {
    const churn = history.churn.get(path);
    return churn === undefined ? [] : [{ path, ...churn }];
  });
  const measured = await inParallel(touched, async (file) => ({ ...file, text: await repository.read(file.path) }));
  const ranked = measured
    .flatMap(({ text, ...file }) =>
      text === undefined || saysGenerated(text) ? [] : [{ ...file, lines: lineCount(text) }],
    )
    .map((file) => ({ ...file, score: file.commits * file.lines }))
    .toSorted((one, other) => other.score - one.score || (one.path < other.path ? -1 : 1));
  const unread = measured.filter(({ text }) => text === undefined).length;
  const shortened = history.cut || repository.shallow;
  return {
    kind: "hot-spots",
    title: "Hot spots: where change and size meet",
    revision: repository.head ?? null,
    looked_at: `${counted(files.length, "source file")} of the repository's own (no tests, nothing generated or vendored) in ${counted(history.commits, "commit")}, ${since === undefined ? "all of the history" : `within ${words}`}; ${ranked.length + unread} of them were touched.`,
    notes: [
      ...(repository.shallow ? ["This is a shallow clone: the counts are lower bounds."] : []),
      ...(history.cut
        ? [
            `Reading stopped after ${LOG_TIME_LIMIT_MS / 1000} s: only the newest ${history.commits} commits are counted.`,
          ]
        : []),
      ...(unread > 0 ? [`${unread} of these could not be read: ${UNREAD}.`] : []),
      ...(repository.head === undefined ? ["There is no commit yet, so nothing has changed."] : []),
      ...(repository.head !== undefined && history.commits === 0
        ? ["No commit lies in this window; try a longer one."]
        : []),
    ],
    items: ranked.slice(0, top).map((file) => ({
      severity: "low",
      file: file.path,
      text: `${counted(file.commits, "commit")} × ${counted(file.lines, "line")} (+${file.added} −${file.deleted})`,
      claim: { commits: file.commits, lines: file.lines, added: file.added, deleted: file.deleted, score: file.score },
    })),
    details: { since: since ?? null, window: words, top, commits: history.commits, lower_bounds: shortened },
  };
}

/** The start of a window of history in words, as an instant; undefined for all of it. Throws when the words mean nothing. */
function windowStart(words: string, now: number): string | undefined {
  const text = words.trim().toLowerCase();
  if (text === "all" || text === "everything") return undefined;
  const match = /^(\d{1,4}) ?(day|week|month|year)s?$/.exec(text);
  const days = Number(match?.[1]) * (DAYS[match?.[2] ?? ""] ?? Number.NaN);
  if (Number.isNaN(days) || days < 1) {
    throw new Error(
      `--since ${JSON.stringify(words)} is no window of history; write for example "90 days", "6 months", "1 year" or "all"`,
    );
  }
  // git reads no dates before 1970.
  return new Date(Math.max(DAY_MS, now - days * DAY_MS)).toISOString().replace(/\.\d+Z$/, "Z");
}

function topOf(value: string | boolean | undefined): number {
  if (value === undefined) return DEFAULT_TOP;
  const top = Number(value);
  if (Number.isInteger(top) && top >= 1 && top <= MOST_TOP) return top;
  throw new Error(`--top ${JSON.stringify(value)} is no number of files; write a whole number from 1 to ${MOST_TOP}`);
}

async function readHistory(
  repository: Repository,
  since: string | undefined,
): Promise<{ commits: number; cut: boolean; churn: Map<string, Churn> }> {
  const window = since === undefined ? [] : [`--since=${since}`];
  const format = ["--no-merges", "--numstat", "--no-renames", "--no-mailmap", "-z", "--format=tformat:commit %H"];
  const records = gitRecords(repository.root, ["log", ...window, ...format, "HEAD", "--"], LOG_TIME_LIMIT_MS);
  const churn = new Map<string, Churn>();
  let commits = 0;
  for (;;) {
    const next = await records.next();
    if (next.done === true) return { commits, cut: next.value, churn };
    if (/^commit [0-9a-f]{40,64}$/.test(next.value)) commits += 1;
    const [, added, deleted, path] = /^\n?(\d+|-)\t(\d+|-)\t([\s\S]+)$/.exec(next.value) ?? [];
    if (path === undefined) continue;
    const sum = churn.get(path) ?? { commits: 0, added: 0, deleted: 0 };
    churn.set(path, sum);
    sum.commits += 1;
    sum.added += Number(added) || 0;
    sum.deleted += Number(deleted) || 0;
  }
}

function lineCount(text: string): number {
  const newlines = text.split("\n").length - 1;
  return text === "" || text.endsWith("\n") ? newlines : newlines + 1;
}

/** The other way: git counts each file's commits by itself, and its lines by matching each of them. */
async function verifyHotSpots(finding: Finding, repository: Repository): Promise<string[]> {
  const { since, lower_bounds: lowerBounds } = finding.details;
  const window = typeof since === "string" ? [`--since=${since}`] : [];
  const wrong = await inParallel(
    finding.items,
    async ({ file, claim }) => {
      const commits = await countCommits(repository, file, window);
      const lines = await countLines(repository, file);
      const claimed = Number(claim["commits"]);
      const holds = lowerBounds === true ? commits >= claimed : commits === claimed;
      return [
        ...(holds ? [] : [`${shown(file)}: ${claimed} commits are claimed, git counts ${commits}`]),
        ...(lines === claim["lines"]
          ? []
          : [`${shown(file)}: ${Number(claim["lines"])} lines are claimed, git counts ${lines}`]),
      ];
    },
    VERIFIED_AT_ONCE,
  );
  return wrong.flat();
}

async function countCommits(repository: Repository, file: string, window: readonly string[]): Promise<number> {
  const only = [...window, "HEAD", "--", `:(top,literal)${file}`];
  return Number((await repository.git(["rev-list", "--count", "--full-history", "--no-merges", ...only])).trim());
}

async function countLines(repository: Repository, file: string): Promise<number> {
  const matched = await repository.grep(["-z", "-a", "-c", "-e", "", "--", `:(top,literal)${file}`]);
  return Number(matched.slice(matched.lastIndexOf("\0") + 1).trim());
}
