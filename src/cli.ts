import { Command, CommanderError } from "commander";
import { CATALOGUE, type CommandEntry } from "./commands/catalogue.ts";
import type { CommandContext, Run } from "./commands/command.ts";
import { EXIT_CODE_OF } from "./commands/exit-code.ts";
import { programVersion } from "./commands/program.ts";
import type { Failure } from "./protocol/failure.ts";
import { EXIT_DONE, EXIT_INTERNAL, EXIT_USAGE } from "./runtime/exit.ts";
import { safeText } from "./ui/display.ts";
import { processTerminal, type Terminal } from "./ui/terminal.ts";

const HELP = `
Start with:
  bosun run --plan examples/survey.yaml      a plan of your own, with nothing installed
  bosun run "…" --manager CMD --worker CMD   your own agents
  bosun help all                             every command`;

/** Parses, runs, and gives the exit code. Nothing below it ends the process. */
async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  let exit_code = EXIT_DONE;
  const program = newProgram(terminal);
  const run: Run = async (work) => {
    const done = await work(contextOf(program, terminal));
    exit_code = done.ok ? done.value : EXIT_CODE_OF[done.error.code];
    if (!done.ok) tellFailure(terminal, done.error);
  };
  for (const entry of CATALOGUE) stub(program, entry);
  try {
    const { operands } = program.parseOptions([...argv]);
    const [first, second] = operands;
    if (first === "help" && second === "all") {
      terminal.out.line(completeHelp(program));
      return EXIT_DONE;
    }
    const chosen = CATALOGUE.find((entry) => entry.name === (first === "help" ? second : first));
    const command = program.commands.find((candidate) => candidate.name() === chosen?.name);
    if (chosen && command) (await chosen.load()).register(command, run);
    await program.parseAsync(argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? EXIT_DONE : EXIT_USAGE;
  }
  return exit_code;
}

function newProgram({ err }: Terminal): Command {
  return new Command("bosun")
    .description("A scheduler for crews of agents.")
    .version(programVersion(), "--version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command; `all` lists every one")
    .option("--home <directory>", "the directory with the database, logs and sessions")
    .showHelpAfterError("(`bosun help` lists the commands, `bosun help <command>` its options)")
    .addHelpText("after", HELP)
    .exitOverride()
    .configureOutput({ outputError: (text) => err.line(commanderError(text)) });
}

/** A command of which only name and summary are known; help needs no more. */
function stub(program: Command, { name, group, summary, hidden = false }: CommandEntry): void {
  program.command(name, { hidden }).summary(summary).description(capital(summary)).helpGroup(group);
}

/** The help with the commands that the short one leaves out. */
function completeHelp(program: Command): string {
  return program.configureHelp({ visibleCommands: (command) => [...command.commands] }).helpInformation();
}

function contextOf(program: Command, terminal: Terminal): CommandContext {
  return {
    terminal,
    directory: process.cwd(),
    environment: process.env,
    home: program.opts<{ home?: string }>().home,
    leave: (exit_code) => process.exit(exit_code),
  };
}

/** What is wrong, and where, in one red word and plain ones; then what to do next. */
function tellFailure({ err }: Terminal, { message, hint }: Failure): void {
  err.line(`${err.style("red", "Error:")} ${safeText(message)}`);
  if (hint !== undefined) for (const line of safeText(hint).split("\n")) err.line(`  ${line}`);
}

function commanderError(text: string): string {
  return safeText(text.replace(/^error: /, "Error: ").trimEnd());
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** What nobody expected: it is a bug, so all that is known of it is shown. */
function tellBug(error: unknown): number {
  const { err } = processTerminal(process.env);
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  err.line(`Error: Bosun has met a bug of its own, and stops.\n${safeText(trace)}`);
  err.line("  What was committed is safe: `bosun status` shows it. Please report this with the lines above.");
  return EXIT_INTERNAL;
}

/** Everything written so far is with its reader, or the reader has gone. */
async function drained(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => {
      stream.write("", () => resolve());
    });
  }
}

const terminal = processTerminal(process.env);
const exit_code = await main(process.argv.slice(2), terminal).catch(tellBug);
await drained();
process.exit(exit_code);
