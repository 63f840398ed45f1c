import { jsonReporter } from "../../ui/json.ts";
import { plainReporter } from "../../ui/plain.ts";
import type { Reporter } from "../../ui/reporter.ts";
import { silentReporter } from "../../ui/silent.ts";
import type { CommandContext } from "../context/command.ts";
import type { RunOptions } from "../options/run-options.ts";

/** The reporter that was asked for. */
export function reporterFor({ reporter }: Pick<RunOptions, "reporter">, { terminal }: CommandContext): Reporter {
  switch (reporter) {
    case "json":
      return jsonReporter(terminal.out);
    case "silent":
      return silentReporter(terminal);
    case "plain":
      return plainReporter(terminal);
  }
}
