import { execa } from "execa";
import { nameOf, parts, repositoryOf, tried } from "../../copies/place.ts";
import { pathOutside, withoutRepository } from "../../lib/git.ts";
import { listOf, objectOf, parsedJson, textOf } from "../../lib/json.ts";
import { markdownSection } from "../../lib/markdown.ts";
import { programFile } from "../../lib/program-file.ts";
import { ok } from "../../lib/result.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { fails, type Failure, type Fallible } from "../../protocol/failure.ts";
import { cut } from "../../protocol/refusal.ts";
import { type Copies, marksOf } from "../../runtime/copies/copies.ts";
import { EXIT_DONE, EXIT_FAILED } from "../../runtime/exit.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { clipped, safeLine } from "../../ui/display.ts";
import { markdownCode, markdownText } from "../../ui/markdown.ts";
import { statusWords } from "../../ui/status.ts";
import { counted, tellNext } from "../../ui/words.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import { tellFailure } from "../context/exit-code.ts";
import { shortBranch } from "../lookup/copies.ts";
import { readSession } from "../lookup/view.ts";
import type { Held } from "./copies.ts";

/** Where the pull request of a session goes. */
export interface PullRequest {
  /** The branch with the session's work, whose name tells one session's request from all others. In full, like that to merge into. */
  readonly branch: string;
  readonly base: string;
  readonly remote: string;
  readonly url: string;
  /** The address of the repository with the base, and the branch as it is called there: with its owner, if that is another. */
  readonly into: string;
  readonly head: string;
}

/** The remote to which a person's git pushes what is meant for a branch. Fails with `usage` if there is none. */
export function pullRequestOf({ place, repository: { root } }: Copies, base: string): Promise<Fallible<PullRequest>> {
  return tried(`The remotes of ${root} cannot be read`, root, async () => {
    const listed = parts(await place.git(root, ["config", "--list", "-z"]));
    const setting = (name: string) => listed.findLast((entry) => entry.startsWith(`${name}\n`))?.slice(name.length + 1);
    const known = (name: string | undefined) =>
      name !== undefined && listed.some((entry) => entry.startsWith(`remote.${name}.`)) ? name : undefined;
    const of = `branch.${shortBranch(base)}`;
    // "." is the repository itself.
    const upstream = known(setting(`${of}.remote`));
    const chosen = setting(`${of}.pushremote`) ?? setting("remote.pushdefault") ?? upstream ?? "origin";
    const remote = known(chosen);
    if (remote === undefined)
      return fails("usage", `${root} has no remote ${chosen} to push to.`, { hint: `git remote add ${chosen} URL` });
    const url = await place.git(root, ["remote", "get-url", "--push", remote]);
    const into = await place.git(root, ["remote", "get-url", upstream ?? remote]);
    const branch = `refs/heads/bosun/${nameOf(place.session_id)}`;
    const [owner, owners] = [ownerIn(url), ownerIn(into)];
    const head = owner === owners ? shortBranch(branch) : `${owner}:${shortBranch(branch)}`;
    return ok({ branch, base, remote, url, into, head });
  });
}

function ownerIn(url: string): string | undefined {
  return /([^/:]+)\/[^/]+\/?$/.exec(url)?.[1];
}

/** In columns. */
const TITLE_WIDTH = 72;
const SUMMARY_WIDTH = 400;

/** In characters; GitHub takes 65,536 in all. */
const MAX_REQUIREMENT = 10_000;
const MAX_BODY = 60_000;

/** Pushes a commit as the branch of a pull request, and opens that unless it is open. It can be repeated after a failure: nothing is pushed or opened twice. */
export async function publish(
  context: CommandContext,
  held: Held,
  { branch, base, remote, url, into, head }: PullRequest,
  commit: string,
): Promise<Exit> {
  const { session_id, row, copies } = held;
  const { place, repository } = copies;
  const { out } = context.terminal;
  const name = shortBranch(branch);
  const body = await bodyOf(held);
  if (!body.ok) return body;
  const pushed = await tried(`${name} is made, but not pushed`, repository.root, async () => {
    // From the session's repository, whose settings name no program.
    const options = { repository: repositoryOf(place), configuration: "person's" } as const;
    return ok(await place.git(repository.root, ["push", "--", url, `${commit}:${branch}`], options));
  });
  if (!pushed.ok)
    return notDone(context, pushed.error, `To push it yourself: git push ${shellWord(remote)} ${shellWord(name)}`);
  out.line(`${safeLine(name)} is pushed to ${safeLine(remote)}.`);
  const title = clipped(row.requirement?.split("\n")[0] ?? row.mode, TITLE_WIDTH);
  const words = ["--head", head, "--base", shortBranch(base), "--title", title];
  const gh = ghIn(context, held);
  const listed = await gh(["pr", "list", "--repo", into, "--head", name, "--state", "open", "--json", "url"]);
  const open = listed.ok ? textOf(objectOf(listOf(parsedJson(listed.value))[0]).url) || undefined : undefined;
  const made =
    listed.ok && open === undefined
      ? await gh(["pr", "create", "--repo", into, ...words, "--body-file", "-"], body.value)
      : listed;
  if (!made.ok)
    return notDone(context, made.error, `To open it yourself: gh pr create ${words.map(shellWord).join(" ")}`);
  out.line(
    `The pull request ${open === undefined ? "is opened" : "was open already"}: ${safeLine(open ?? made.value)}`,
  );
  tellNext(out, `bosun undo ${session_id}`);
  return ok(EXIT_DONE);
}

/** Tells what is left to do of a merge that is done. */
function notDone({ terminal }: CommandContext, why: Failure, hint: string): Exit {
  tellFailure(terminal, { ...why, hint });
  return ok(EXIT_FAILED);
}

/** Runs GitHub's program, which asks nothing. In a checkout it would run git, with the programs that the repository names. */
function ghIn({ environment }: CommandContext, { home, session_id, copies: { repository } }: Held) {
  const PATH = pathOutside(environment.PATH, repository.root);
  const file = programFile("gh", repository.root, PATH);
  const env = {
    ...withoutRepository(environment),
    ...marksOf(session_id, sessionPaths(home, session_id)),
    PATH,
    GH_PROMPT_DISABLED: "1",
  };
  return async (words: readonly string[], input = ""): Promise<Fallible<string>> => {
    if (file === undefined) return fails("environment", "The branch is pushed, but the program gh is not on the PATH.");
    const ran = await execa(file, words, { cleanup: false, cwd: "/", env, extendEnv: false, input, reject: false });
    if (!ran.failed) return ok(ran.stdout);
    return fails("environment", `The branch is pushed, but gh has failed: ${ran.stderr?.trim() || ran.shortMessage}`);
  };
}

/** What was asked, and what each ticket came to. None of these texts can mention somebody, or close an issue. */
async function bodyOf({ home, store, row, session_id }: Held): Promise<Fallible<string>> {
  const view = await readSession(store, home, row);
  if (!view.ok) return view;
  const { presentation, tickets } = view.value;
  const points = tickets.map(({ ticket_id, status, reason, title, summary = title }) => {
    const state = markdownText(statusWords(status, reason), TITLE_WIDTH);
    return `**${markdownText(ticket_id)}** (${state}): ${markdownText(summary, SUMMARY_WIDTH)}`;
  });
  const sections = [
    [`Made by the session ${markdownCode(session_id, TITLE_WIDTH)} of Bosun.`],
    markdownSection("## Requirement", cut(row.requirement ?? "", MAX_REQUIREMENT), [], (line) => markdownText(line)),
    markdownSection(`## ${counted(points.length, presentation.subjectName)}`, "", points, (line) => line),
  ];
  return ok(cut(`${sections.map((lines) => lines.join("\n")).join("\n\n")}\n`, MAX_BODY));
}
