import { capture } from "../../copies/capture.ts";
import type { TurnRequest, TurnResult } from "../../kernel/agent.ts";
import { textOf } from "../../lib/json.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import { cut, refusalFrom } from "../../protocol/refusal.ts";
import type { SessionContext } from "../context.ts";

/** The largest file that is taken over, in bytes. */
const MAX_FILE_BYTES = 100 * 1024 * 1024;

/** The most paths that are named. */
const NAMED = 20;

/** In characters. */
const MAX_SUBJECT = 72;

/** What workers may not change unless their settings say otherwise: what runs on other machines, or decides over this session. */
const PROTECTED = [".github/workflows/**", ".gitlab-ci.yml", ".circleci/**", ".husky/**", ".githooks/**", ".bosun/**"];

/** Commits what a worker delivers. Work that cannot be taken over fails the turn, so that the worker is told why. */
export async function delivered(
  { copies, config }: SessionContext,
  request: TurnRequest,
  result: TurnResult,
): Promise<TurnResult> {
  const { role, stamp, payload, at } = request;
  const { answer } = result;
  const isWork = role.type === "worker" && payload.message.payload_type === "instruction";
  const isDone = answer?.payload_type === "report" && answer.payload["status"] === "completed";
  if (copies === undefined || stamp.subject === undefined || !isWork || !isDone || result.failure) return result;
  const summary = textOf(answer.payload["summary"]).split("\n")[0] ?? "";
  const captured = await copies.turns.pass(stamp.subject, () =>
    capture(
      copies.place,
      {
        ticket_id: stamp.subject ?? "",
        attempt: stamp.attempt,
        run: stamp.run,
        author: { name: `${role.role_id} (Bosun)`, email: "bosun@localhost" },
        subject: cut(`${stamp.subject}: ${summary}`, MAX_SUBJECT),
        at,
      },
      { maxBytes: MAX_FILE_BYTES, protectedPaths: config.protected_paths ?? PROTECTED },
    ),
  );
  if (!captured.ok) return withFailure(result, captured.error);
  if (captured.value.state === "captured") {
    const { commit, start } = captured.value.work;
    return { ...result, work: { commit, start } };
  }
  const { refused } = captured.value;
  const paths = refused.slice(0, NAMED).map(({ path, why }) => `${path} ${why}`);
  const more = refused.length > NAMED ? [`and ${refused.length - NAMED} more`] : [];
  const what = `The work cannot be taken over: ${[...paths, ...more].join("; ")}`;
  return withFailure(result, failure("validation_failed", what, { hint: "Undo that, then report again." }));
}

function withFailure(result: TurnResult, why: Failure): TurnResult {
  return { ...result, failure: why, refused: [...result.refused, refusalFrom("report", why)] };
}
