import { invocationName } from "./commands/context/invocation.ts";
import { asksForJson, failedEvent } from "./commands/context/exit-code.ts";
import { runCommandLine } from "./commands/main.ts";
import { failure } from "./protocol/failure.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT, EXIT_INTERNAL } from "./runtime/exit.ts";
import { safeText } from "./ui/display.ts";
import { processTerminal } from "./ui/terminal.ts";
import { localize } from "./ui/words.ts";

const terminal = processTerminal(process.env);

/** Reports an unexpected error, which is a bug, with its stack trace. */
function tellBug(error: unknown): number {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.err.line(`Error: This is a bug in Bosun.\n${safeText(trace)}`);
  // The current directory may be gone.
  const program = invocationName({ directory: "/", environment: process.env, home: undefined }, "elsewhere");
  const next =
    "Everything recorded so far is safe: `bosun status --all` lists the sessions, and `bosun replay SESSION --verify` proves one. Please report the lines above.";
  terminal.err.line(`  ${localize({ program }, next)}`);
  if (asksForJson(process.argv.slice(2))) {
    const message = error instanceof Error ? error.message : String(error);
    failedEvent(terminal, failure("internal", message, { hint: next }), EXIT_INTERNAL);
  }
  return EXIT_INTERNAL;
}

/** Waits until all output is written, or its reader is gone. */
async function drained(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => {
      stream.write("", () => resolve());
    });
  }
}

// A bug has its own exit code: 1 means that tickets failed.
process.on("uncaughtException", (error) => process.exit(tellBug(error)));

/** Undefined if the current directory was deleted. */
function currentDirectory(): string | undefined {
  try {
    return process.cwd();
  } catch {
    terminal.err.line("Error: The current directory no longer exists.\n  Change to another one (cd), and try again.");
    return undefined;
  }
}

function run(directory: string): Promise<number> {
  const leave = (code: number) => process.exit(code);
  const around = { terminal, directory, environment: process.env, leave };
  return runCommandLine(process.argv.slice(2), around).catch(tellBug);
}

/** Output that could not be written (a full disk) must not look complete. */
function tellLost(why: string): number {
  terminal.err.line(`Error: Standard output cannot be written: ${why}.`);
  terminal.err.line("  The command has done its work; only its output is incomplete. Write it elsewhere.");
  return EXIT_ENVIRONMENT;
}

const directory = currentDirectory();
const exit_code = directory === undefined ? EXIT_ENVIRONMENT : await run(directory);
await drained();
const { lost } = terminal.out;
const told = lost === undefined ? undefined : tellLost(lost);
process.exit(exit_code === EXIT_DONE ? (told ?? exit_code) : exit_code);
