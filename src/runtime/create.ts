import type { Mode } from "../kernel/mode.ts";
import { crashPoint } from "../lib/crash-point.ts";
import { defined, type JsonObject } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { validateMessage } from "../protocol/envelope.ts";
import { SCHEMAS_DIGEST } from "../protocol/generated/digest.ts";
import type { ResolvedConfiguration } from "../protocol/payload.ts";
import { type Actor, GENESIS } from "../protocol/record.ts";
import { about } from "../protocol/recording.ts";
import type { Role } from "../protocol/roles.ts";
import { taken } from "../store/failures.ts";
import type { Store } from "../store/store.ts";
import type { SessionLease } from "./context.ts";
import type { SessionRepository } from "./copies/copies.ts";
import { type FactInput, fromPerson } from "./facts.ts";
import { RecordHashes } from "./checked-records.ts";
import { withholderFor, withoutSecrets } from "./secrets.ts";
import type { Session } from "./session.ts";
import { emptyEngine, rowsVersion } from "./stored-state.ts";
import { assemble, type Surroundings, withLease } from "./assemble.ts";

/** The input of a new session; its first record holds all of it. */
export interface NewSessionInput {
  readonly session_id: string;
  readonly requirement?: string;
  readonly input?: JsonObject;
  readonly config: ResolvedConfiguration;
  readonly roles: readonly Role[];
  readonly workspace: string;
  readonly started_by: Actor;
  /** The session that opens this one, and its subject there. */
  readonly parent?: { readonly session_id: string; readonly subject: string | undefined };
  /** A person's facts that the session begins with, such as the requirement or a plan. */
  readonly facts: readonly Pick<FactInput, "payload_type" | "payload">[];
  /** Makes the files that the session needs, and its repository if it has one. If it fails, the session does not begin. */
  readonly prepare?: () => Promise<Fallible<SessionRepository | undefined>>;
}

/** Begins a session. Fails with `busy` if the id is taken, `usage` for invalid facts. A failed start leaves at most a name. */
export async function createSession<S>(
  around: Surroundings,
  mode: Mode<S>,
  given: NewSessionInput,
): Promise<Fallible<Session<S>>> {
  const { store, clock } = around;
  const said = given.requirement;
  const input = said === undefined ? given : { ...given, requirement: withholderFor(given.roles).text(said) };
  const { session_id, requirement, workspace } = input;
  for (const fact of input.facts) {
    const allowed = fromPerson(fact, mode.rights);
    if (!allowed.ok) return fails("usage", allowed.error.message, { details: allowed.error.details ?? {} });
  }
  const opening = openingOf(around, mode, input);
  const checked = validateMessage("session_opened", opening);
  if (!checked.ok) {
    const { message, pointer } = checked.error;
    return fails("usage", `The session cannot begin: ${message}`, { details: { pointer } });
  }
  const created = await store.create({
    session_id,
    mode: mode.name,
    workspace,
    created_at: clock.now(),
    ...defined({ requirement, parent: input.parent?.session_id }),
  });
  const free = created.ok || created.error.code !== "busy" ? created : checkNeverBegun(store, mode.name, input);
  if (!free.ok) return free;
  crashPoint("session_created");
  return withLease(around, session_id, async (lease) => {
    // Another process may have begun a session with the same name first, and even ended it.
    const still = checkNeverBegun(store, mode.name, input);
    if (!still.ok) return still;
    const prepared = (await input.prepare?.()) ?? ok(undefined);
    if (!prepared.ok) return prepared;
    const repository = prepared.value;
    return begin(around, mode, input, { ...opening, ...defined({ repository }) }, lease, repository);
  });
}

function begin<S>(
  around: Surroundings,
  mode: Mode<S>,
  input: NewSessionInput,
  opening: JsonObject,
  lease: SessionLease,
  repository: SessionRepository | undefined,
): Fallible<Session<S>> {
  const { session_id, config, roles, workspace } = input;
  const opened_at = around.clock.now();
  const opened = assemble(around, lease, {
    session_id,
    engine: emptyEngine(mode),
    head: { sequence: 0, hash: GENESIS },
    hashes: new RecordHashes(),
    published: 0,
    config,
    roles,
    workspace,
    opened_at,
    repository,
    sent: new Map(),
  });
  if (!opened.ok) return opened;
  const session = opened.value;
  session.submit({ at: opened_at, source: "scheduler", payload_type: "session_opened", payload: opening });
  void session.keep(rowsVersion(mode));
  for (const fact of input.facts) session.submitFromPerson({ ...fact, source: "user", actor: input.started_by });
  return opened;
}

function openingOf<S>({ version }: Surroundings, mode: Mode<S>, input: NewSessionInput): JsonObject {
  const { requirement, parent } = input;
  return {
    mode: mode.name,
    rules: mode.rules,
    version,
    config: input.config,
    roles: input.roles.map(withoutSecrets),
    schemas: { digest: SCHEMAS_DIGEST },
    workspace: input.workspace,
    started_by: { ...input.started_by },
    ...defined({ requirement, input: input.input }),
    ...(parent ? { parent: { session_id: parent.session_id, ...about(parent.subject) } } : {}),
  };
}

/** Fails with `busy` unless the name is free, or was left by a scheduler that died before its first commit. */
function checkNeverBegun(store: Store, mode: string, { session_id, workspace }: NewSessionInput): Fallible<void> {
  const found = store.session(session_id);
  if (!found.ok) return found;
  const { value: row } = found;
  const is =
    row.session_id === session_id && row.last_sequence === 0 && row.mode === mode && row.workspace === workspace;
  return is ? ok(undefined) : err(taken(session_id));
}
