import { canonicalJson } from "../../lib/canonical.ts";
import type { Json, JsonObject } from "../../lib/json.ts";
import { err, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../protocol/payload.ts";
import { onlyForPeople } from "../../protocol/inside-turn.ts";
import type { Role } from "../../protocol/roles.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { SessionRow } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import type { RunOptions } from "../options/run-options.ts";
import type { RunInput } from "../options/run-input.ts";
import { withPlaybook } from "./playbook.ts";
import { openedWith } from "../lookup/state.ts";
import type { RuntimeEnvironment } from "./runtime-environment.ts";
import { takeUp } from "./take-up.ts";

/** Resumes an existing session if it was begun with the same inputs; else `usage`, naming what differs. */
export async function resumeSame(
  context: CommandContext,
  runtime: RuntimeEnvironment,
  row: SessionRow,
  input: RunInput,
  runOptions: RunOptions,
): Promise<Result<number, Failure>> {
  const refused = onlyForPeople(`run --session ${row.session_id}`, context.environment);
  if (refused) return err(refused);
  const opened = openedWith(runtime.store, row.session_id);
  const different =
    opened === undefined ? [] : differences(opened, input, sessionPaths(runtime.home, row.session_id).folder);
  if (different.length === 0) return takeUp(context, runtime, row, runOptions, {});
  return err(
    failure("usage", `The session ${row.session_id} exists already, with another ${different.join(", another ")}.`, {
      hint: `To continue it as it is: bosun resume ${row.session_id}. For these inputs use another --session ID.`,
    }),
  );
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
