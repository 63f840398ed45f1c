import type { Inspection, Trial } from "./case.ts";

/** The program exits with 0 and has printed one accepted answer, with no message after it. An `error` is an answer, too. */
export const answers: Inspection = (trial) => {
  const { end, heard, surplus } = trial;
  const [refused] = heard.refused;
  if (refused) return `it wrote a line that is refused: ${refused.message}`;
  if (heard.answer === undefined) return `it gave no answer${howItEnded(trial)}`;
  if (end.cause !== "exited") return `it did not exit after its answer${howItEnded(trial)}`;
  if (end.exit?.code !== 0) return `it answered, but${howItEnded(trial)}`;
  return surplus === 0 ? undefined : `it printed ${surplus} more messages after its answer`;
};

/** The program ends by itself, with no answer other than an `error`. */
export const declines: Inspection = (trial) => {
  const { end, heard } = trial;
  if (heard.answer !== undefined && heard.answer.payload_type !== "error")
    return `it answered with ${heard.answer.payload_type}, although it could not know what was asked`;
  return end.cause === "exited" ? undefined : `it did not end by itself${howItEnded(trial)}`;
};

/** The program ends by itself and prints no message at all. */
export const staysSilent: Inspection = (trial) => {
  const { end, heard } = trial;
  if (heard.answer !== undefined || heard.refused.length > 0) return "it printed a message, although nothing was asked";
  return end.cause === "exited" ? undefined : `it did not end by itself${howItEnded(trial)}`;
};

/** SIGTERM is enough to end the program. */
export const yieldsToTerm: Inspection = ({ end }) =>
  end.exit?.signal === "SIGKILL" || end.exit === undefined ? "it ignored SIGTERM and had to be killed" : undefined;

function howItEnded({ end, stderr, elapsed_ms }: Trial): string {
  const said = stderr === "" ? "" : `; on stderr: ${stderr.split("\n").at(-1) ?? ""}`;
  const { code, signal } = end.exit ?? { code: null, signal: null };
  if (end.cause === "timeout" || end.cause === "idle_timeout")
    return ` within ${Math.round(elapsed_ms / 1_000)} s${said}`;
  return `${signal === null ? ` it exited with ${code ?? "nothing"}` : ` it was ended by ${signal}`}${said}`;
}
