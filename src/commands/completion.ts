import { script } from "@bomb.sh/tab";
import { Argument, type Command } from "commander";
import { ok } from "../lib/result.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { bashScript } from "./completion/bash.ts";
import type { Run } from "./context/command.ts";
import { invocationName } from "./context/invocation.ts";

const SHELLS = ["bash", "zsh", "fish"];

/** `bosun completion`: prints the script that makes a shell complete commands. */
export function register(command: Command, run: Run): void {
  command.addArgument(new Argument("<shell>", "your shell").choices(SHELLS));
  command.action((shell: string) =>
    run(async (context) => {
      const program = invocationName({ ...context, home: undefined }, "elsewhere");
      // The library writes to stdout itself.
      if (shell === "bash") context.terminal.out.line(bashScript(program));
      else script(shell, "bosun", program);
      return ok(EXIT_DONE);
    }),
  );
}
