import type { Command } from "commander";
import { findProjectConfiguration, findUserConfiguration } from "../config/found.ts";
import { trustNeeded } from "../config/trust.ts";
import { contentOf, rememberTrust } from "../config/trusted.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeLine } from "../ui/display.ts";
import { tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { confirmHere } from "./interaction/confirm.ts";

/** `bosun trust`: lets a project's configuration run its commands, until one of its files changes. */
export function register(command: Command, run: Run): void {
  command
    .option("-y, --yes", "trust it without asking")
    .action((options: { readonly yes?: boolean }) => run((context) => trust(context, options.yes === true)));
}

async function trust(context: CommandContext, agreed: boolean): Promise<Result<number, Failure>> {
  const { directory, environment, terminal } = context;
  const project = findProjectConfiguration(directory);
  if (!project.ok) return project;
  if (project.value === undefined) {
    return err(
      failure("not_found", "There is no .bosun folder here or above in this repository.", {
        hint: "`bosun init` writes one.",
      }),
    );
  }
  const user = findUserConfiguration(environment);
  if (!user.ok) return user;
  const { folder } = project.value;
  // Comes before the files are read: a change while the user reads and answers is not part of what they trust.
  const content = contentOf(folder);
  if (!content.ok) return content;
  const needed = trustNeeded(project.value, user.value);
  if (!needed.ok) return needed;
  const powers = needed.value?.powers ?? [];
  if (powers.length === 0) terminal.out.line(safeLine(`${folder} runs nothing by itself, so it needs no trust.`));
  else terminal.out.line(safeLine(`The configuration in ${folder}:`));
  for (const { where, what } of powers) terminal.out.line(`  ${where}: ${what}`);
  if (powers.length > 0 && !agreed) {
    if (!terminal.hasPerson) {
      return err(
        failure("person_needed", "Nobody is here to say whether to trust this.", {
          hint: "Read it, then bosun trust --yes.",
        }),
      );
    }
    const declined = await confirmHere(context, "Trust it, until one of its files changes?", "yes");
    if (declined !== undefined) return ok(declined);
  }
  const remembered = powers.length === 0 ? ok(undefined) : rememberTrust(environment, folder, content.value);
  if (!remembered.ok) return remembered;
  if (powers.length > 0) terminal.out.line("Trusted, until one of its files changes.");
  tellNext(terminal.out, 'bosun run "…"', "bosun doctor");
  return ok(EXIT_DONE);
}
