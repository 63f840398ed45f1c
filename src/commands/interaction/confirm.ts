import { EXIT_FAILED, EXIT_INTERRUPTED } from "../../runtime/exit.ts";
import { promptYes } from "../../ui/choices.ts";
import type { CommandContext } from "../context/command.ts";
import { watchSignals } from "../context/signals.ts";

/** The exit code of a command that a person at its terminal did not confirm. */
export type Declined = typeof EXIT_FAILED | typeof EXIT_INTERRUPTED;

/** Asks the person at this terminal yes or no; Enter means `usual`. Returns the exit code if they decline, undefined if they confirm. */
export async function confirmHere(
  context: CommandContext,
  question: string,
  usual: "yes" | "no",
): Promise<Declined | undefined> {
  const answer = await askHere(context, (signal) => promptYes(context.terminal, question, usual, signal));
  if (typeof answer === "number") return answer;
  return answer ? undefined : EXIT_FAILED;
}

/** Asks the person at this terminal, while no session runs. Returns the exit code of Ctrl-C. */
export async function askHere<T>(
  { leave }: CommandContext,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T | typeof EXIT_INTERRUPTED> {
  const interrupted = new AbortController();
  const signals = watchSignals({ stop: () => interrupted.abort() }, leave, ["SIGINT"]);
  const answer = await ask(interrupted.signal);
  signals.restore();
  return interrupted.signal.aborted ? EXIT_INTERRUPTED : answer;
}
