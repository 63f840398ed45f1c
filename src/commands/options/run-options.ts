import { type Command, Option } from "commander";
import { answerFromFlag, type GivenAnswer, loadAnswers } from "../../config/answers.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { ok } from "../../lib/result.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import type { Terminal } from "../../ui/terminal.ts";
import { unfitFor } from "../../ui/tui/fit.ts";
import { collect, type CommandContext } from "../context/command.ts";
import type { LimitOptions } from "./limits.ts";

/** What happens to a question when nobody is there: it waits, its default is taken, or the manager decides. */
export const POLICIES = ["stop", "default", "manager"] as const;

/** What a person says before the session asks. */
export interface GivenMessage {
  readonly answers: readonly GivenAnswer[];
  readonly unanswered: (typeof POLICIES)[number];
  /** Whether every plan is approved. */
  readonly approve_plans: boolean;
}

/** How a session is run: what is shown, who is asked, and the answers given beforehand. */
export interface RunOptions extends GivenMessage {
  readonly reporter: ReporterName;
  /** Whether the person at this terminal is asked. */
  readonly ask: boolean;
  /** Whether to stop as soon as there is a plan. */
  readonly plan_only: boolean;
  /** Where its scheduler runs. */
  readonly scheduler: SchedulerPlace;
}

export const REPORTERS = ["tui", "plain", "github", "json", "silent"] as const;
export type ReporterName = (typeof REPORTERS)[number];

/** Whether a reporter shows the session to a person, who can also be asked there. */
export function isForPeople(reporter: ReporterName): boolean {
  return reporter !== "json" && reporter !== "silent";
}

/** In this process; or in its own process, which outlives this one, with this terminal `attached`, or `detached` at once. */
export type SchedulerPlace = "here" | "attached" | "detached";

/** The options of every command that shows a running session. */
export interface ReporterOptions {
  readonly reporter?: string;
  readonly json?: boolean;
  readonly input?: boolean;
}

export interface RunFlags extends ReporterOptions {
  readonly answers?: string;
  readonly answer?: string[];
  readonly unanswered?: string;
  readonly yes?: boolean;
  readonly planOnly?: boolean;
  readonly detach?: boolean;
  readonly foreground?: boolean;
}

/** Adds the reporter options; `no_input` says what `--no-input` means for the command. */
export function addReporterOptions(command: Command, no_input: string): void {
  command
    .option(
      "--reporter <name>",
      "tui (the dashboard), plain, github, json or silent (default: $BOSUN_REPORTER; else tui at a terminal, github in a GitHub job, plain elsewhere)",
    )
    .option("--json", "one JSON object a line on stdout, and nothing else")
    .option("--no-input", no_input);
}

/** Adds the options that say how a session is run. */
export function addRunOptions(command: Command): void {
  command
    .option("--answers <file>", "answers given in advance, as YAML or JSON; - reads standard input")
    .option("--answer <id=text>", "one answer given in advance (repeatable)", collect)
    .option("--unanswered <policy>", "what to do with an unanswered question: stop, default or manager", "stop")
    .option("-y, --yes", "approve plans without asking");
  addReporterOptions(command, "never ask at this terminal");
  command
    .addOption(new Option("--detach", "leave the session running and return at once").conflicts("foreground"))
    .option("--foreground", "run it in this process, which ends with the terminal");
}

/** Parses the run options. Failures: `usage`, and `configuration` for an invalid answers file. */
export async function readRunOptions(
  { terminal, environment }: CommandContext,
  options: RunFlags,
): Promise<Fallible<RunOptions>> {
  const unanswered = oneOf("--unanswered", options.unanswered ?? "stop", POLICIES);
  if (!unanswered.ok) return unanswered;
  const named = namedReporter(options, environment);
  if (!named.ok) return named;
  if (options.json === true && named.value !== "json")
    return fails("usage", `--json and --reporter ${named.value} cannot be combined.`, {
      hint: "Leave one of them out.",
    });
  const answers = await givenAnswers(options);
  if (!answers.ok) return answers;
  const ask = terminal.hasPerson && options.input !== false;
  const isShown = ask && options.detach !== true;
  const reporter = shownBy(terminal, environment, named.value, isShown);
  const attachable = ask && terminal.out.stream.isTTY && isForPeople(reporter) && options.foreground !== true;
  return ok({
    reporter,
    answers: answers.value,
    unanswered: unanswered.value,
    approve_plans: options.yes === true,
    ask,
    plan_only: options.planOnly === true,
    scheduler: options.detach === true ? "detached" : attachable ? "attached" : "here",
  });
}

/** The reporter that the command line names, else `BOSUN_REPORTER`; undefined for the default one. */
function namedReporter(
  { reporter, json }: ReporterOptions,
  { BOSUN_REPORTER = "" }: CommandContext["environment"],
): Fallible<ReporterName | undefined> {
  if (reporter !== undefined) return oneOf("--reporter", reporter, REPORTERS);
  if (json === true) return ok("json");
  return BOSUN_REPORTER === "" ? ok(undefined) : oneOf("BOSUN_REPORTER", BOSUN_REPORTER, REPORTERS);
}

/** The reporter that this terminal can show. The dashboard is the default for a person. If it was named but cannot be shown, says why. */
function shownBy(
  terminal: Terminal,
  environment: CommandContext["environment"],
  named: ReporterName | undefined,
  isShown: boolean,
): ReporterName {
  if (named === undefined && environment.GITHUB_ACTIONS === "true") return "github";
  if (named === undefined && !isShown) return "plain";
  if (named !== undefined && named !== "tui") return named;
  const unfit = unfitFor(terminal, environment);
  if (unfit === undefined) return "tui";
  if (named === "tui") terminal.err.line(`${unfit} The plain reporter shows the session.`);
  return "plain";
}

/** The context for messages beside a session's output: they go to stderr unless a person is shown the session. */
export function beside(context: CommandContext, { reporter }: Pick<RunOptions, "reporter">): CommandContext {
  const { terminal } = context;
  return isForPeople(reporter) ? context : { ...context, terminal: { ...terminal, out: terminal.err } };
}

/** The typed word if it is one of these; else `usage` with the nearest. */
export function oneOf<T extends string>(flag: string, word: string, words: readonly T[]): Fallible<T> {
  const found = words.find((candidate) => candidate === word);
  if (found !== undefined) return ok(found);
  return fails("usage", `${flag} does not take ${JSON.stringify(word)}.${didYouMean(word, words)}`, {
    hint: `${flag} takes ${words.join(", ")}.`,
  });
}

async function givenAnswers(options: RunFlags): Promise<Fallible<GivenAnswer[]>> {
  const answers: GivenAnswer[] = [];
  if (options.answers !== undefined) {
    const loaded = await loadAnswers(options.answers);
    if (!loaded.ok) return loaded;
    answers.push(...loaded.value);
  }
  for (const text of options.answer ?? []) {
    const answer = answerFromFlag(text);
    if (!answer.ok) return answer;
    answers.push(answer.value);
  }
  return ok(answers);
}

/** Refuses options that only the process that resumes a session can apply, if a message is put to the session instead; `usage`. */
export function onlyOnResume(
  reader: StoreReader,
  { session_id, parent }: SessionRow,
  { answers, answer, unanswered = "stop", yes, foreground, deadline, detach }: RunFlags & LimitOptions,
): Failure | undefined {
  const running = [session_id, parent].find((id) => id !== null && reader.holder(id) !== undefined);
  const given: [flag: string, isGiven: boolean | undefined][] = [
    ["--deadline", deadline !== undefined],
    ["--answers", answers !== undefined],
    ["--answer", answer !== undefined],
    ["--unanswered", unanswered !== "stop"],
    ["--yes", yes],
    ["--foreground", foreground],
    // A running session is detached already.
    ["--detach", running === undefined && detach],
  ];
  const flags = given.flatMap(([flag, isGiven]) => (isGiven === true ? [flag] : [])).join(", ");
  if (flags === "") return undefined;
  const stop = running === undefined ? "" : `first stop it (bosun stop ${running}), then `;
  return failure("usage", `${flags} can only be applied when ${session_id} is resumed.`, {
    hint: `Leave it out here. To apply it: ${stop}give it to bosun resume ${session_id}.`,
  });
}
