import { writeFileSync } from "node:fs";
import type { Command } from "commander";
import { isPlaybook } from "../../config/role-defaults.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { makeDirectory, OWN } from "../../lib/files.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { loadMode } from "../../modes/index.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import { onlyForPeople } from "../../protocol/inside-turn.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import { createSession } from "../../runtime/create.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import { checkSessionId } from "../../store/sessions.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import { type CommandContext, type Exit, nameOf } from "../context/command.ts";
import { openHome, type OpenHome, withHome } from "../context/home.ts";
import { actorHere } from "../context/program.ts";
import { newSessionId } from "../lookup/id.ts";
import { unknownMode } from "../lookup/modes.ts";
import { playbookCopy } from "../lookup/plan.ts";
import { sessionCalled } from "../lookup/resolve.ts";
import { openedWith } from "../lookup/state.ts";
import { addSettingOptions } from "../options/ready.ts";
import { addRegistryOptions } from "../options/registry.ts";
import type { Playbook, RunInput, RunInputOptions } from "../options/run-input.ts";
import { addRunOptions, readRunOptions, type RunFlags, type RunOptions } from "../options/run-options.ts";
import { driveSession, type Patience } from "./drive.ts";
import { chooseBase, makeSessionRepository } from "./repository.ts";
import { runtimeEnvironment } from "./runtime-environment.ts";
import { type LeftRunning, leaveRunning } from "./scheduler-process.ts";
import { takeUp } from "./take-up.ts";
import { warnBefore } from "./warnings.ts";

export interface BeginOptions extends RunInputOptions, RunFlags {
  readonly session?: string;
}

/** Adds the options of a command that begins a session; `noun` is what its words are. */
export function addBeginOptions(command: Command, noun: string): void {
  command
    .option("--file <file>", `read the ${noun} from this file; - reads standard input`)
    .option("--session <id>", "the session's id; an existing one continues if its inputs are the same");
  addSettingOptions(command);
  addRegistryOptions(command);
  addRunOptions(command);
  const help = `\`bosun help ${nameOf(command)}\` lists the options`;
  command.showHelpAfterError(`(Quote arguments that contain spaces; ${help})`);
}

/** Begins a session with the input that `read` gives, or resumes the one with the typed id if it was begun with the same input. */
export async function beginOrResume(
  context: CommandContext,
  options: BeginOptions,
  read: (runOptions: RunOptions) => Promise<Fallible<RunInput>>,
): Promise<Exit> {
  const { session: named } = options;
  const valid = named === undefined ? ok(undefined) : checkSessionId(named);
  if (!valid.ok) return valid;
  const runOptions = await readRunOptions(context, options);
  if (!runOptions.ok) return runOptions;
  const input = await read(runOptions.value);
  if (!input.ok) return input;
  return withHome(openHome(context), async (home) => {
    const existing = sessionCalled(home.store, named);
    if (!existing.ok) return existing;
    if (existing.value) return resumeSame(context, home, existing.value, input.value, runOptions.value);
    const chosen = await chooseBase(context, home.home, input.value, runOptions.value);
    if (!chosen.ok) return chosen;
    if (typeof chosen.value === "number") return ok(chosen.value);
    const declined = await warnBefore(context, home.store, chosen.value, runOptions.value);
    if (declined !== undefined) return ok(declined);
    return begin(context, home, named ?? newSessionId(input.value.mode), chosen.value, runOptions.value);
  });
}

/** Begins a session in a process of its own, and leaves it there; as the command does without a terminal, with `--detach`. */
export async function beginDetached(
  context: CommandContext,
  options: BeginOptions,
  read: (runOptions: RunOptions) => Promise<Fallible<RunInput>>,
): Promise<Fallible<LeftRunning>> {
  const runOptions = await readRunOptions(context, { ...options, detach: true, input: false });
  if (!runOptions.ok) return runOptions;
  const wanted = await read(runOptions.value);
  if (!wanted.ok) return wanted;
  const input = wanted.value;
  return withHome(openHome(context), async (home) => {
    const chosen = await chooseBase(context, home.home, input, runOptions.value);
    if (!chosen.ok) return chosen;
    if (typeof chosen.value === "number") throw new Error("nobody was asked, and declined");
    await warnBefore(context, home.store, chosen.value, runOptions.value);
    const order = {
      do: "begin",
      session_id: newSessionId(input.mode),
      input: chosen.value,
      runOptions: runOptions.value,
    } as const;
    return leaveRunning(context, home, order);
  });
}

/** Begins a session and runs it, here or in a process of its own. */
export async function begin(
  context: CommandContext,
  home: OpenHome<Store>,
  session_id: string,
  input: RunInput,
  runOptions: RunOptions,
  patience?: Patience,
): Promise<Exit> {
  if (runOptions.scheduler !== "here") {
    const { handOver } = await import("./hand-over.ts");
    return handOver(context, home, { do: "begin", session_id, input, runOptions });
  }
  const mode = await loadMode(input.mode);
  if (mode === undefined) return err(unknownMode({ session_id, mode: input.mode }));
  const runtime = runtimeEnvironment(home, context);
  const { folder } = sessionPaths(home.home, session_id);
  const opened = await createSession(runtime, mode, {
    ...input.session,
    roles: withPlaybook(input.session.roles, folder, input.playbook),
    session_id,
    started_by: actorHere(),
    prepare: async () => {
      const kept = input.playbook === undefined ? ok(undefined) : keepPlaybook(folder, input.playbook);
      return kept.ok ? makeSessionRepository(context, runtime, session_id, input) : kept;
    },
  });
  if (!opened.ok) return opened;
  const known = { resumed: false, kill_grace_s: input.session.config.kill_grace_s };
  return driveSession(context, runtime, opened.value, runOptions, known, patience);
}

/** Resumes an existing session if it was begun with the same inputs; else `usage`, naming what differs. */
async function resumeSame(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  input: RunInput,
  runOptions: RunOptions,
): Promise<Exit> {
  const refused = onlyForPeople(`… --session ${row.session_id}`, context.environment);
  if (refused) return err(refused);
  const opened = openedWith(home.store, row.session_id);
  const { folder } = sessionPaths(home.home, row.session_id);
  const different = opened === undefined ? [] : differences(opened, input, folder);
  if (different.length === 0) return takeUp(context, home, row, runOptions, {});
  return fails("usage", `The session ${row.session_id} exists already, with other inputs: ${different.join(", ")}.`, {
    hint: `To continue it as it is: bosun resume ${row.session_id}. For these inputs use another --session ID.`,
  });
}

function differences(opened: PayloadByType["session_opened"], input: RunInput, folder: string): string[] {
  const { session, by_terminal = [] } = input;
  if (opened.mode !== input.mode) return ["mode"];
  const roles = withPlaybook(session.roles, folder, input.playbook);
  const [was = {}, is = {}] = [opened.input, session.input];
  // The field that repeats the requirement is compared with it, and the source of a plan by its digest.
  const isComparedElsewhere = (field: string) =>
    field === "plan_source" || (was[field] === opened.requirement && is[field] === session.requirement);
  const fields = Object.keys({ ...was, ...is }).filter((field) => !isComparedElsewhere(field));
  const pairs: [what: string, was: unknown, is: unknown][] = [
    ["requirement", opened.requirement, session.requirement],
    ...fields.map((field): [string, unknown, unknown] => [wordOf(field), was[field], is[field]]),
    ["workspace", opened.workspace, session.workspace],
    ["crew", opened.roles.map(withoutEnvironment), roles.map(withoutEnvironment)],
    ["configuration", without(opened.config, by_terminal), without(session.config, by_terminal)],
  ];
  const different = pairs.filter(
    ([, before, now]) => canonicalJson((before ?? null) as Json) !== canonicalJson((now ?? null) as Json),
  );
  return [...new Set(different.map(([what]) => what))];
}

/** A field of the input in words. A plan is recorded as its digest, and as whether it was given in place of a manager's. */
function wordOf(field: string): string {
  return field.replace(/_(?:digest|given)$/, "").replaceAll("_", " ");
}

/** Leaves out settings that depend on the terminal: a session begun at a terminal may continue without one, and vice versa. */
function without(config: ResolvedConfiguration, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(config).filter(([key]) => !keys.includes(key)));
}

/** Keeps only the names of a role's variables, because secret values are not recorded. */
function withoutEnvironment(role: Role): JsonObject {
  const { env = {}, ...rest } = role;
  return { ...rest, env: Object.keys(env).sort() };
}

/** Adds an environment variable to the playbook manager's role that names the session's copy of the plan file. */
function withPlaybook(roles: readonly Role[], folder: string, played: Playbook | undefined): readonly Role[] {
  if (played === undefined) return roles;
  const BOSUN_PLAYBOOK = playbookCopy(folder, played.file);
  return roles.map((role) => (isPlaybook(role) ? { ...role, env: { ...role.env, BOSUN_PLAYBOOK } } : role));
}

/** Copies the plan file into the session's folder, so that resuming does not need the original. Fails with `storage` or `storage_full`. */
function keepPlaybook(folder: string, { file, text }: Playbook): Fallible<void> {
  const copy = () => {
    makeDirectory(folder);
    return ok(writeFileSync(playbookCopy(folder, file), text, OWN));
  };
  return attempt(folder, copy, "The session's copy of the plan file");
}
