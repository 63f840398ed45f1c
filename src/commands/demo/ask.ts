import { formatDuration } from "../../lib/durations.ts";
import { promptQuestion } from "../../ui/prompt.ts";
import type { OpenQuestion } from "../../ui/waiting.ts";
import type { AnsweredQuestion } from "./events.ts";
import type { Stage } from "./stage.ts";

/** A person who only looks on is not waited for longer, in ms; a key pressed, and there is no limit. */
const PATIENCE_MS = 15_000;

/** Asks the person at the terminal one question; its default stands for no answer. */
export async function askPerson(
  { context, interrupted }: Stage,
  question: OpenQuestion,
  place: { readonly number: number; readonly of: number },
): Promise<AnsweredQuestion> {
  const { terminal } = context;
  const patience = new AbortController();
  const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
  const typing = () => clearTimeout(timer);
  terminal.input.once("data", typing);
  if (place.number === 1) {
    terminal.err.line(`   Enter takes the default, and so do ${formatDuration(PATIENCE_MS)} without a key.`);
  }
  const typed = await promptQuestion(terminal, question, place, AbortSignal.any([patience.signal, interrupted]));
  clearTimeout(timer);
  terminal.input.off("data", typing);
  if (typed.kind === "left") terminal.err.line();
  const { question_id, text, why = null, options, default: usual = null } = question;
  const answer = typed.kind === "text" ? typed.text : (usual ?? "");
  return { question_id, text, why, options, default: usual, answer, by: "terminal" };
}
