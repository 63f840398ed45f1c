import { writeFileSync } from "node:fs";
import { isPlaybook } from "../../config/role-defaults.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { makeDirectory, OWN } from "../../lib/files.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { err, ok } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { scheduleMode } from "../../modes/schedule/mode.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import { onlyForPeople } from "../../protocol/inside-turn.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../protocol/payload.ts";
import type { Role } from "../../protocol/roles.ts";
import { createSession } from "../../runtime/create.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { SessionRow, Store } from "../../store/store.ts";
import type { CommandContext, Exit } from "../context/command.ts";
import type { OpenHome } from "../context/home.ts";
import { actorHere } from "../context/program.ts";
import { playbookCopy } from "../lookup/plan.ts";
import { openedWith } from "../lookup/state.ts";
import type { Playbook, RunInput } from "../options/run-input.ts";
import type { RunOptions } from "../options/run-options.ts";
import { driveSession, type Patience } from "./drive.ts";
import { runtimeEnvironment } from "./runtime-environment.ts";
import { takeUp } from "./take-up.ts";

/** Begins a schedule session and runs it, here or in a process of its own. */
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
  const runtime = runtimeEnvironment(home, context);
  const { folder } = sessionPaths(home.home, session_id);
  const opened = await createSession(runtime, scheduleMode, {
    ...input.session,
    roles: withPlaybook(input.session.roles, folder, input.playbook),
    session_id,
    started_by: actorHere(),
    prepare: () => (input.playbook === undefined ? ok(undefined) : keepPlaybook(folder, input.playbook)),
  });
  if (!opened.ok) return opened;
  const known = { resumed: false, kill_grace_s: input.session.config.kill_grace_s };
  return driveSession(context, runtime, opened.value, runOptions, known, patience);
}

/** Resumes an existing session if it was begun with the same inputs; else `usage`, naming what differs. */
export async function resumeSame(
  context: CommandContext,
  home: OpenHome<Store>,
  row: SessionRow,
  input: RunInput,
  runOptions: RunOptions,
): Promise<Exit> {
  const refused = onlyForPeople(`run --session ${row.session_id}`, context.environment);
  if (refused) return err(refused);
  const opened = openedWith(home.store, row.session_id);
  const { folder } = sessionPaths(home.home, row.session_id);
  const different = opened === undefined ? [] : differences(opened, input, folder);
  if (different.length === 0) return takeUp(context, home, row, runOptions, {});
  return fails("usage", `The session ${row.session_id} exists already, with another ${different.join(", another ")}.`, {
    hint: `To continue it as it is: bosun resume ${row.session_id}. For these inputs use another --session ID.`,
  });
}

function differences(opened: PayloadByType["session_opened"], input: RunInput, folder: string): string[] {
  const { session } = input;
  const roles = withPlaybook(session.roles, folder, input.playbook);
  const pairs: [what: string, was: unknown, is: unknown][] = [
    ["requirement", opened.requirement, session.requirement],
    ["plan", planOf(opened.input), planOf(session.input)],
    ["workspace", opened.workspace, session.workspace],
    ["crew", opened.roles.map(withoutEnvironment), roles.map(withoutEnvironment)],
    ["configuration", without(opened.config, input.by_terminal), without(session.config, input.by_terminal)],
  ];
  return pairs
    .filter(([, was, is]) => canonicalJson((was ?? null) as Json) !== canonicalJson((is ?? null) as Json))
    .map(([what]) => what);
}

function planOf(input: unknown): Json {
  const { plan_digest = null, plan_given = false } = (input ?? {}) as JsonObject;
  return { plan_digest, plan_given };
}

/** Leaves out settings that depend on the terminal: a session begun at a terminal may continue without one, and vice versa. */
function without(config: ResolvedConfiguration, keys: RunInput["by_terminal"]): JsonObject {
  return Object.fromEntries(Object.entries(config).filter(([key]) => !(keys as readonly string[]).includes(key)));
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
