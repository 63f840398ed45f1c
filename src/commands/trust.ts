import type { Command } from "commander";
import { readProject, readUser } from "../config/configuration.ts";
import { findProjectConfiguration } from "../config/found.ts";
import { rememberTrust, trustNeeded } from "../config/trust.ts";
import { ok } from "../lib/result.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeLine } from "../ui/display.ts";
import { tellNext } from "../ui/words.ts";
import type { Action } from "./context/command.ts";
import { confirmHere } from "./interaction/confirm.ts";

/** `bosun trust`: lets a project's configuration run its commands, until one of its files changes. */
export function register(command: Command): Action<{ readonly yes?: boolean }> {
  command.option("-y, --yes", "trust it without asking");
  return async (context, _words, { yes: agreed = false }) => {
    const { directory, environment, terminal } = context;
    const found = findProjectConfiguration(directory);
    if (!found.ok) return found;
    if (found.value === undefined) {
      const hint = "`bosun init` writes one.";
      return fails("not_found", "There is no .bosun folder here or above in this repository.", { hint });
    }
    const user = readUser(environment);
    if (!user.ok) return user;
    const { folder } = found.value;
    const project = readProject(found.value);
    if (!project.ok) return project;
    const needed = trustNeeded(project.value, user.value);
    if (!needed.ok) return needed;
    const { out } = terminal;
    const isFree = needed.value.length === 0;
    out.line(
      safeLine(isFree ? `${folder} runs nothing by itself, so it needs no trust.` : `The configuration in ${folder}:`),
    );
    for (const { where, what } of needed.value) out.line(`  ${where}: ${what}`);
    if (!isFree && !agreed) {
      if (!terminal.hasPerson) {
        const hint = "Read it, then bosun trust --yes.";
        return fails("person_needed", "Nobody is here to say whether to trust this.", { hint });
      }
      const declined = await confirmHere(context, "Trust it, until one of its files changes?", "yes");
      if (declined !== undefined) return ok(declined);
    }
    const remembered = isFree ? ok(undefined) : rememberTrust(environment, project.value);
    if (!remembered.ok) return remembered;
    if (!isFree) out.line("Trusted, until one of its files changes.");
    tellNext(out, 'bosun run "…"', "bosun doctor");
    return ok(EXIT_DONE);
  };
}
