import { isUtf8 } from "node:buffer";
import { existsSync, readFileSync } from "node:fs";
import { Command, CommanderError, Help } from "commander";
import { nearest } from "../lib/nearest.ts";
import { err } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_USAGE } from "../runtime/exit.ts";
import { onlyForPeople } from "../protocol/inside-turn.ts";
import { catchStorage } from "../store/storage-error.ts";
import { wrappedLines } from "../ui/display.ts";
import type { Output, Terminal } from "../ui/terminal.ts";
import { localize } from "../ui/words.ts";
import { invocationName } from "./context/invocation.ts";
import type { CommandContext, Work } from "./context/command.ts";
import { asksForJson, EXIT_CODE_OF, failedEvent, tellFailure } from "./context/exit-code.ts";
import { programVersion } from "./context/program.ts";
import { CATALOGUE, type CommandEntry } from "./catalogue.ts";

const HELP = `
Start with:
  bosun demo                                 see it work, with nothing installed
  bosun run --plan FILE                      a plan of your own
  bosun run "…" --manager CMD --worker CMD   your own agents
  bosun help all                             every command`;

const USAGE = "`bosun help` lists the commands, `bosun help <command>` its options";

/** Parses a command line (without the program's name), runs the command and returns its exit code. */
export async function runCommandLine(argv: readonly string[], around: Omit<CommandContext, "home">): Promise<number> {
  const { terminal } = around;
  const json = asksForJson(argv);
  let exit_code = EXIT_DONE;
  const program = newProgram(terminal);
  setProgram(terminal, invocationName({ ...around, home: undefined }));
  const run = async (entry: CommandEntry, command: Command, work: Work) => {
    const { home } = program.opts<{ home?: string }>();
    if (home !== undefined) setProgram(terminal, invocationName({ ...around, home }));
    const context = { ...around, home };
    const isDecision = entry.decides === true || entry.decides?.some((option) => command.opts()[option] !== undefined);
    const refused = lostBytes(argv, around) ?? (isDecision ? onlyForPeople(entry.name, around.environment) : undefined);
    const done = refused
      ? err(refused)
      : await catchStorage(() => work(context)).catch(async (error: unknown) =>
          (await import("./lookup/damage.ts")).damageBehind(context, error),
        );
    exit_code = done.ok ? done.value : EXIT_CODE_OF[done.error.code];
    if (done.ok) return;
    tellFailure(terminal, done.error);
    if (json) failedEvent(terminal, done.error, exit_code);
  };
  for (const entry of CATALOGUE) stub(program, entry);
  try {
    const { operands } = program.parseOptions([...argv]);
    const [first, second] = operands;
    if (first === "complete") return await (await import("./complete.ts")).complete(program, operands.slice(1), around);
    if (first === "help" && second === "all") {
      const every = { visibleCommands: (command: Command) => [...command.commands] };
      terminal.out.line(program.configureHelp(every).helpInformation());
      return EXIT_DONE;
    }
    const typed = first === "help" ? operands.slice(1) : operands;
    const chosen = CATALOGUE.find(({ name }) => name.split(" ").every((word, at) => word === typed[at]));
    const command = chosen && commandIn(program, chosen.name);
    if (chosen && command) {
      const act = (await chosen.load()).register(command);
      if (first === "help" && command.parent !== program) {
        command.outputHelp();
        return EXIT_DONE;
      }
      command.action(() => run(chosen, command, (context) => act(context, command.args, command.opts<never>())));
    }
    // Help for an unknown command fails like the command itself.
    const unknown = first === "help" && second !== undefined && !commandIn(program, second);
    await program.parseAsync(unknown ? [second] : argv, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT_DONE;
    const message = error.message.replace(/^error: /, "");
    if (json) failedEvent(terminal, failure("usage", message, { hint: USAGE }), EXIT_USAGE);
    return EXIT_USAGE;
  }
  return exit_code;
}

function setProgram({ out, err }: Terminal, name: string): void {
  out.program = name;
  err.program = name;
}

/** What other programs call a command, where its name is not near. */
const ELSEWHERE = new Map(Object.entries({ kill: "stop", abort: "stop", ls: "status", ps: "status" }));

/** Refuses an unknown command, and suggests the nearest known one. */
function unknownCommand(this: Command, [word = ""]: readonly string[]): void {
  const names = this.createHelp().visibleCommands(this);
  const meant =
    ELSEWHERE.get(word) ??
    nearest(
      word,
      names.map((command) => command.name()),
    );
  this.error(`error: unknown command '${word}'${meant === undefined ? "" : `\n(Did you mean ${meant}?)`}`);
}

function newProgram({ out, err }: Terminal): Command {
  return new Command("bosun")
    .on("command:*", unknownCommand)
    .description("A scheduler for crews of agents.")
    .version(programVersion(), "--version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help for a command; `all` lists every one")
    .option("--home <directory>", "the directory with the database, logs and sessions")
    .showHelpAfterError(`(${USAGE})`)
    .addHelpText("after", HELP)
    .exitOverride()
    .configureOutput({
      // Help calls the program `bosun`; an error shows what to type here.
      writeOut: (text) => out.line(text.trimEnd()),
      writeErr: (text) => writeLines(err, localize(err, text.trimEnd())),
      outputError: (text) => writeLines(err, text.replace(/^error: /, "Error: ").trimEnd()),
    });
}

/** The command with this name, which may be two words; undefined if there is none. */
function commandIn(program: Command, name: string): Command | undefined {
  return name
    .split(" ")
    .reduce<Command | undefined>((outer, word) => outer?.commands.find((one) => one.name() === word), program);
}

/** Registers a command without its arguments and options, which is enough for the list of commands. */
function stub(program: Command, { name, group, summary, examples, hidden = false }: CommandEntry): void {
  const [first = name, second] = name.split(" ");
  const around = () => program.command(first, { hidden }).summary(summary).helpGroup(group).helpCommand(false);
  const outer = second === undefined ? program : (commandIn(program, first) ?? around());
  outer
    .command(second ?? first, { hidden: hidden && outer === program })
    .summary(summary)
    .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`)
    .helpGroup(outer === program ? group : "Commands:")
    .configureHelp({ formatHelp: (command, helper) => withExamples(new Help().formatHelp(command, helper), examples) });
}

/** Inserts the examples after the usage, where commander has no place for them. */
function withExamples(help: string, examples: readonly string[]): string {
  const [usage = "", ...rest] = help.split("\n\n");
  const title = examples.length === 1 ? "Example:" : "Examples:";
  return [usage, [title, ...examples.map((example) => `  ${example}`)].join("\n"), ...rest].join("\n\n");
}

/** Wraps an error between words. Help has columns, and is laid out already. */
function writeLines(err: Output, text: string): void {
  const isHelp = text.includes("\n\n");
  for (const line of isHelp ? [text] : wrappedLines(text, err.width, 0)) err.line(line);
}

/** The bytes of this process's command line, where the system shows them. */
const COMMAND_LINE = "/proc/self/cmdline";

/**
 * Refuses names that are not UTF-8: Node puts U+FFFD in the place of their bytes, so Bosun would find nothing by them, or make something else.
 * Failures: `environment` for the current directory or a variable, `usage` for an argument.
 */
function lostBytes(
  argv: readonly string[],
  { directory, environment }: Pick<CommandContext, "directory" | "environment">,
): Failure | undefined {
  const isLost = (text: string | undefined) => text?.includes("\ufffd") === true;
  const { BOSUN_HOME, HOME, XDG_STATE_HOME, XDG_CONFIG_HOME } = environment;
  const paths = [directory, BOSUN_HOME, HOME, XDG_STATE_HOME, XDG_CONFIG_HOME];
  const path = paths.find((one) => isLost(one) && !existsSync(one ?? ""));
  const hint = "Bosun cannot name such files or keep such texts: rename what it names, or write it in UTF-8.";
  if (path !== undefined) return failure("environment", `This path is not UTF-8: ${path}.`, { hint });
  const word = argv.find(isLost);
  if (word === undefined || !existsSync(COMMAND_LINE) || isUtf8(readFileSync(COMMAND_LINE))) return undefined;
  return failure("usage", `An argument is not UTF-8: ${word}.`, { hint });
}
