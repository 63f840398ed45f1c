import { relative } from "node:path";
import type { Command } from "commander";
import { shipped } from "../config/installation.ts";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { shellWord } from "../lib/shell-word.ts";
import { localize } from "../ui/words.ts";
import { shortPath } from "./context/invocation.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { EXIT_CODE_OF } from "./context/exit-code.ts";
import { homeOf } from "./context/home.ts";
import { programVersion } from "./context/program.ts";
import { watchSignals } from "./context/signals.ts";
import { conduct } from "./demo/conduct.ts";
import { CrewSession } from "./demo/crew-session.ts";
import type { DemoResult } from "./demo/events.ts";
import { carefulGit } from "./demo/git.ts";
import { fillScratch, makeScratch, removeScratch } from "./demo/scratch.ts";
import { showFor } from "./demo/show.ts";
import { findSource, type Source } from "./demo/source.ts";
import { addReporterOptions, readRunOptions, type ReporterOptions } from "./options/run-options.ts";

interface DemoOptions extends ReporterOptions {
  readonly keep?: boolean;
}

/** `bosun demo`: everything that matters in half a minute, on a scratch copy of a repository. */
export function register(command: Command, run: Run): void {
  command
    .argument("[dir]", "your repository; it is only read (default: the one you are in, else Bosun's own)")
    .option("--keep", "keep the scratch copy");
  addReporterOptions(command, "take the default of each question");
  command.action((directory: string | undefined, options: DemoOptions) =>
    run((context) => demo(context, directory, options)),
  );
}

async function demo(
  context: CommandContext,
  named: string | undefined,
  options: DemoOptions,
): Promise<Result<number, Failure>> {
  const began = performance.now();
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const home = homeOf(context);
  if (!home.ok) return home;
  const git = carefulGit(context.environment);
  const source = await findSource(git, context, named);
  if (!source.ok) return source;
  const { reporter } = runOptions.value;
  const show = showFor(reporter, context);
  const interruption = new AbortController();
  const scratch = makeScratch(source.value);
  const stage = {
    context,
    home: home.value,
    scratch,
    show,
    ask: runOptions.value.ask && reporter === "plain",
    interrupted: interruption.signal,
  };
  const session = new CrewSession(stage);
  const signals = watchSignals(
    {
      stop: () => {
        context.terminal.err.line(
          "Stopping: the crew is asked to end, and the scratch copy goes. Once more hurries them.",
        );
        interruption.abort();
      },
      kill: () => session.hurry(),
    },
    // The way out is the same for every signal: nothing may be left behind.
    () => {},
  );
  let conducted: Awaited<ReturnType<typeof conduct>>;
  try {
    show({ type: "hello", bosun: programVersion(), source: source.value.directory, home: home.value });
    const filled = await fillScratch(git, source.value, scratch, home.value, interruption.signal);
    if (filled.ok) {
      const { directory, uncommitted } = source.value;
      show({ type: "scratch", source: directory, work: scratch.work, head: filled.value, uncommitted });
    }
    conducted = filled.ok ? await conduct(stage, session) : filled;
  } finally {
    await session.leave();
    if (options.keep !== true) removeScratch(scratch);
    signals.restore();
  }
  if (!conducted.ok) {
    const exit_code = signals.exitCode() ?? EXIT_CODE_OF[conducted.error.code];
    show({ type: "failed", exit_code, error: conducted.error });
    if (!interruption.signal.aborted) return conducted;
    const record = session.session_id === "" ? "" : ` The record of ${session.session_id} stays, cancelled.`;
    context.terminal.err.line(
      `Interrupted: nothing runs any more.${record} To see it whole: ${localize(context.terminal.err, "bosun demo")}`,
    );
    return ok(exit_code);
  }
  show({
    type: "result",
    exit_code: EXIT_DONE,
    ...conducted.value,
    kept: options.keep === true ? scratch.folder : null,
    elapsed_ms: performance.now() - began,
    next: nextSteps(context, source.value, conducted.value.session_id),
  });
  return ok(EXIT_DONE);
}

/** What to type now, as it works from the current directory. */
function nextSteps({ directory, terminal }: CommandContext, source: Source, session_id: string): DemoResult["next"] {
  const here = (command: string) => localize(terminal.out, command);
  const inside = source.directory !== shipped() && !relative(source.directory, directory).startsWith("..");
  const plan = shellWord(shortPath(directory, shipped("examples", "release-check.yaml")));
  const where = inside ? "" : " --cwd YOUR-REPOSITORY";
  return [
    { what: "prove it again", command: here(`bosun replay ${session_id} --verify`) },
    { what: "see how it stands", command: here(`bosun status ${session_id}`) },
    {
      what: inside ? "work on it yourself" : "in your repository",
      command: here(`bosun run --plan ${plan}${where}`),
    },
  ];
}
