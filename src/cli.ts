import { invocationName } from "./commands/context/invocation.ts";
import { runCommandLine } from "./commands/main.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT, EXIT_INTERNAL } from "./runtime/exit.ts";
import { safeText } from "./ui/display.ts";
import { processTerminal } from "./ui/terminal.ts";
import { localize } from "./ui/words.ts";

const terminal = processTerminal(process.env);

/** What nobody expected: it is a bug, so all that is known of it is shown. */
function tellBug(error: unknown): number {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.err.line(`Error: Bosun has met a bug of its own, and stops.\n${safeText(trace)}`);
  // Nothing is known of where this is: the current directory may be gone.
  const program = invocationName({ directory: "/", environment: process.env, home: undefined }, "elsewhere");
  const next =
    "What was committed is safe: `bosun status --all` lists the sessions, and `bosun replay SESSION --verify` proves one. Please report this with the lines above.";
  terminal.err.line(`  ${localize({ program }, next)}`);
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

// Wherever it comes from, a bug has its own exit code: 1 says that tickets failed.
process.on("uncaughtException", (error) => process.exit(tellBug(error)));

/** A shell may stand in a directory that somebody has deleted: then nothing can be found from here, and nothing be run. */
function currentDirectory(): string | undefined {
  try {
    return process.cwd();
  } catch {
    terminal.err.line("Error: The current directory is not there any more.\n  Go to another (cd), and try again.");
    return undefined;
  }
}

function run(directory: string): Promise<number> {
  const leave = (code: number) => process.exit(code);
  const around = { terminal, directory, environment: process.env, leave };
  return runCommandLine(process.argv.slice(2), around).catch(tellBug);
}

/** Whoever reads a file that this was to fill must not take what is there for all of it. */
function tellLost(why: string): number {
  terminal.err.line(`Error: Standard output cannot be written: ${why}.`);
  terminal.err.line("  What the command did is done, and only its output is not whole. Write it elsewhere.");
  return EXIT_ENVIRONMENT;
}

const directory = currentDirectory();
const exit_code = directory === undefined ? EXIT_ENVIRONMENT : await run(directory);
await drained();
const { lost } = terminal.out;
const told = lost === undefined ? undefined : tellLost(lost);
process.exit(exit_code === EXIT_DONE ? (told ?? exit_code) : exit_code);
