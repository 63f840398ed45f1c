import { EXIT_FAILED, EXIT_INTERRUPTED } from "../../runtime/exit.ts";
import { promptYes } from "../../ui/choices.ts";
import type { CommandContext } from "../context/command.ts";
import { watchSignals } from "../context/signals.ts";

/** The exit code of a command that a person at its terminal did not confirm. */
export type Declined = typeof EXIT_FAILED | typeof EXIT_INTERRUPTED;

/** Asks the person at this terminal yes or no; Enter means `usual`. Returns the exit code if they decline, undefined if they confirm. */
export async function confirmHere(
  { terminal, leave }: CommandContext,
  question: string,
  usual: "yes" | "no",
): Promise<Declined | undefined> {
  const interrupted = new AbortController();
  const signals = watchSignals({ stop: () => interrupted.abort() }, leave, ["SIGINT"]);
  const isConfirmed = await promptYes(terminal, question, usual, interrupted.signal);
  signals.restore();
  if (interrupted.signal.aborted) return EXIT_INTERRUPTED;
  return isConfirmed ? undefined : EXIT_FAILED;
}
