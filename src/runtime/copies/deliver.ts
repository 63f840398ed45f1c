import { capture, IS_PROTECTED, outsideOf } from "../../copies/capture.ts";
import type { Answer, TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { listOf, textOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { ResolvedConfiguration } from "../../protocol/payload.ts";
import { refusalFrom } from "../../protocol/refusal.ts";
import type { SessionContext } from "../context.ts";

/** The largest file that is taken over, in bytes. */
export const MAX_FILE_BYTES = 100 * 1024 * 1024;

/** The most paths that are named. */
const NAMED = 20;

/** Files in which package managers write what they have installed. */
export const LOCK_FILES = [
  "package-lock.json",
  "npm-shrinkwrap.json",
  "pnpm-lock.yaml",
  "yarn.lock",
  "bun.lock",
  "bun.lockb",
  "deno.lock",
  "Cargo.lock",
  "go.sum",
  "poetry.lock",
  "uv.lock",
  "Pipfile.lock",
  "Gemfile.lock",
  "composer.lock",
];

/** Paths that workers may not change unless `writes` or the settings allow it: what runs on other machines, decides over this session, or brings code of others. */
const PROTECTED = [
  ".github/workflows/**",
  ".gitlab-ci.yml",
  ".circleci/**",
  ".husky/**",
  ".githooks/**",
  ".bosun/**",
  ...LOCK_FILES.map((name) => `**/${name}`),
];

/** Commits what a worker delivers. Work that cannot be taken over fails the turn, so that the worker is told why. */
export async function delivered(
  { copies, config }: SessionContext,
  request: TurnRequest,
  result: TurnResult,
): Promise<TurnResult> {
  const { role, stamp, payload, at } = request;
  const { answer } = result;
  // Of a turn that is stopped, an answer that was already there counts.
  const hasFailed = result.failure !== undefined && result.failure.code !== "cancelled";
  const isDone = answer?.payload["status"] === "completed" && !hasFailed;
  if (copies === undefined || stamp.subject === undefined || payload.delivers === undefined || !isDone) return result;
  const { writes = [] } = payload.delivers;
  const summary = textOf(answer.payload["summary"]).split("\n")[0] ?? "";
  const captured = await copies.turns.pass(stamp.subject, () =>
    capture(
      copies.place,
      {
        ticket_id: stamp.subject ?? "",
        attempt: stamp.attempt,
        run: stamp.run,
        author: { name: `${role.role_id} (Bosun)`, email: "bosun@localhost" },
        subject: `${stamp.subject}: ${summary}`,
        at,
      },
      { maxBytes: MAX_FILE_BYTES, protectedPaths: protectedFor(config, writes) },
    ),
  );
  if (!captured.ok) return withFailure(result, captured.error);
  if (captured.value.state === "captured") {
    const { commit, start } = captured.value.work;
    const done = { ...result, work: { commit, start } };
    const outside = writes.length === 0 ? ok([]) : await outsideOf(copies.place, start, commit, writes);
    if (!outside.ok) return withFailure(result, outside.error);
    return outside.value.length === 0
      ? done
      : withIssue(done, answer, `Written outside of \`writes\`: ${listed(outside.value)}`);
  }
  const { refused } = captured.value;
  const what = `The work cannot be taken over: ${listed(refused.map(({ path, why }) => `${path} ${why}`))}`;
  const isProtected = refused.some(({ why }) => why === IS_PROTECTED);
  const hint = `Undo that, then report again.${isProtected ? " If the work needs it, report `blocked`: its `writes` must name the path." : ""}`;
  return withFailure(result, failure("validation_failed", what, { hint }));
}

/** A plan that a person saw may name a protected path, as it is. */
function protectedFor({ protected_paths = PROTECTED }: ResolvedConfiguration, writes: readonly string[]) {
  return { globs: protected_paths, except: writes.filter((glob) => !/[*?[]/.test(glob)) };
}

function listed(what: readonly string[]): string {
  const more = what.length > NAMED ? [`and ${what.length - NAMED} more`] : [];
  return [...what.slice(0, NAMED), ...more].join("; ");
}

/** Whoever reviews the work should know. */
function withIssue(result: TurnResult, answer: Answer, issue: string): TurnResult {
  const issues = [...listOf(answer.payload["issues"]).slice(0, MOST_ISSUES - 1), issue];
  return { ...result, answer: { ...answer, payload: { ...answer.payload, issues } } };
}

/** The most issues of a report. */
const MOST_ISSUES = 1000;

function withFailure(result: TurnResult, why: Failure): TurnResult {
  return { ...result, failure: why, refused: [...result.refused, refusalFrom("report", why)] };
}
