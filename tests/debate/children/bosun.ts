// The program with its one command `debate`, put together as src/cli.ts does it.
import { Command } from "commander";
import { register } from "../../../src/commands/debate.ts";
import { EXIT_CODE_OF } from "../../../src/commands/exit-code.ts";
import { processTerminal } from "../../../src/ui/terminal.ts";

const terminal = processTerminal(process.env);
const program = new Command("bosun").option("--home <directory>");
register(program.command("debate"), async (work) => {
  const done = await work({
    terminal,
    directory: process.cwd(),
    environment: process.env,
    home: program.opts<{ home?: string }>().home,
    leave: (exit_code) => process.exit(exit_code),
  });
  if (!done.ok) terminal.err.line(`${done.error.message} ${done.error.hint ?? ""}`);
  process.exitCode = done.ok ? done.value : EXIT_CODE_OF[done.error.code];
});
await program.parseAsync(process.argv.slice(2), { from: "user" });
