import type { Command } from "commander";
import { type AskedOf, typedRequirement } from "./options/requirement.ts";
import { DURATION_FORM } from "../lib/durations.ts";
import { didYouMean } from "../lib/nearest.ts";
import { err, ok } from "../lib/result.ts";
import { debate as descriptor, type DebateInput } from "../modes/debate/debate.ts";
import { readInput } from "../kernel/kit/input.ts";
import { debateMode } from "../modes/debate/mode.ts";
import { fails, type Failure, failure, type Fallible } from "../protocol/failure.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import type { Role } from "../protocol/roles.ts";
import { createSession } from "../runtime/create.ts";
import { checkSessionId } from "../store/sessions.ts";
import type { SessionRow } from "../store/store.ts";
import { type Action, type CommandContext, type Exit, collect } from "./context/command.ts";
import { openHome, withHome } from "./context/home.ts";
import { actorHere } from "./context/program.ts";
import { addReporterOptions, readRunOptions, type ReporterOptions } from "./options/run-options.ts";
import { readyToBegin, type SettingOptions } from "./options/ready.ts";
import { findConfiguration, loadRegistry, type RegistryOptions } from "./options/registry.ts";
import { driveSession } from "./driver/drive.ts";
import { runtimeEnvironment } from "./driver/runtime-environment.ts";
import { sessionCalled } from "./lookup/resolve.ts";
import { newSessionId } from "./lookup/id.ts";

const QUESTION: AskedOf = { command: "debate", noun: "question", say: "Say what to debate" };

interface DebateOptions
  extends RegistryOptions,
    ReporterOptions,
    Pick<SettingOptions, "cwd" | "maxWorkers" | "budgetTurns" | "deadline"> {
  readonly file?: string;
  readonly agents?: string;
  readonly judge?: string;
  readonly rounds?: string;
  readonly until?: string;
  readonly session?: string;
}

/** `bosun debate`: several agents answer a question, revise in view of each other's answers, and a judge concludes. */
export function register(command: Command): Action<DebateOptions> {
  command
    .argument("[question]", "what to debate; - reads standard input")
    .requiredOption("--agents <ids>", "the debaters: two or more role ids, separated by commas")
    .requiredOption("--judge <id>", "the role that concludes; not a debater")
    .option("--file <file>", "read the question from this file; - reads standard input")
    .option("--rounds <n>", "how many rounds of answers: 1 to 20", "3")
    .option("--until <end>", "rounds: all of them; stable: until no debater changes position", "rounds")
    .option("--roles <file>", "a role registry (repeatable)", collect)
    .option("--crew <name>", "a named set of roles, which --roles adds to")
    .option("--config <file>", "scheduler settings, as YAML or JSON")
    .option("--cwd <directory>", "the workspace (default: the current directory)")
    .option("--max-workers <n>", "how many debaters may run at once")
    .option("--budget-turns <n>", "stop after this many turns")
    .option("--deadline <duration>", `stop after this time, without the machine's sleep: ${DURATION_FORM}`)
    .option("--session <id>", "the session's id");
  addReporterOptions(command, "never ask at this terminal");
  command.addHelpText("after", "\nThe role type in your registry is ignored; --agents and --judge assign the seats.");
  return debate;
}

async function debate(context: CommandContext, [words]: readonly string[], options: DebateOptions): Promise<Exit> {
  if (options.session !== undefined) {
    const named = checkSessionId(options.session);
    if (!named.ok) return named;
  }
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const prepared = await prepare(context, words, options);
  if (!prepared.ok) return prepared;
  const { input, roles, config } = prepared.value;
  return withHome(openHome(context), async (home) => {
    const existing = sessionCalled(home.store, options.session);
    if (!existing.ok) return existing;
    if (existing.value) return err(exists(existing.value));
    const runtime = runtimeEnvironment(home, context);
    const session = await createSession(runtime, debateMode, {
      session_id: options.session ?? newSessionId("debate"),
      requirement: input.topic,
      input: { ...input },
      config,
      roles,
      workspace: config.workspace,
      started_by: actorHere(),
      facts: [],
    });
    if (!session.ok) return session;
    return driveSession(context, runtime, session.value, runOptions.value, {
      resumed: false,
      kill_grace_s: config.kill_grace_s,
    });
  });
}

interface Prepared {
  readonly input: DebateInput;
  readonly roles: readonly Role[];
  readonly config: ResolvedConfiguration;
}

/** Reads and checks all inputs before anything is created. */
async function prepare(
  context: CommandContext,
  words: string | undefined,
  options: DebateOptions,
): Promise<Fallible<Prepared>> {
  const question = await typedRequirement(context.terminal, { words, file: options.file }, QUESTION);
  if (!question.ok) return question;
  const found = findConfiguration(context, options, options.cwd ?? context.directory);
  if (!found.ok) return found;
  const registry = await loadRegistry(options, found.value);
  if (!registry.ok) return registry;
  const [debaters, judge] = [idsOf(options.agents), options.judge ?? ""];
  const seated = seat(registry.value, debaters, judge);
  if (!seated.ok) return seated;
  const input = readInput(
    descriptor,
    { topic: question.value, debaters, judge, rounds: numberOf(options.rounds), until: options.until },
    seated.value,
  );
  if (!input.ok) return fails("usage", input.error.map(({ what }) => what).join("; "));
  const ready = await readyToBegin(context, options, found.value, seated.value);
  if (!ready.ok) return ready;
  const { roles, settings } = ready.value;
  return ok({ input: input.value, roles, config: settings.values });
}

/** The roles that take part, as participants; a manager who judges stays a manager. */
function seat(registry: readonly Role[], debaters: readonly string[], judge: string): Fallible<Role[]> {
  const roles: Role[] = [];
  for (const id of new Set([...debaters, judge])) {
    const role = registry.find((candidate) => candidate.role_id === id);
    if (!role) return err(noSuchRole(id, registry));
    const stays = id === judge && role.type === "manager";
    roles.push(stays ? role : { ...role, type: "participant" });
  }
  return ok(roles);
}

function noSuchRole(id: string, registry: readonly Role[]): Failure {
  const ids = registry.map((role) => role.role_id);
  return failure("usage", `There is no role ${JSON.stringify(id)}.${didYouMean(id, ids)}`, {
    hint: `The roles are ${ids.join(", ")}. Add others with --roles FILE.`,
  });
}

function exists({ session_id, state }: SessionRow): Failure {
  const hint = state === "closed" ? `bosun replay ${session_id}` : `bosun resume ${session_id}`;
  return failure("usage", `The session ${session_id} exists already; it is ${state}.`, {
    hint: `Choose another --session ID for a new debate. This one: ${hint}.`,
  });
}

function idsOf(text: string | undefined): string[] {
  return (text ?? "").split(",").flatMap((id) => id.trim() || []);
}

/** Keeps text that is not a number, so that the debate's own check reports it. */
function numberOf(text: string | undefined): number | string | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}
