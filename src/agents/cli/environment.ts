import { join } from "node:path";
import type { TurnRequest } from "../../kernel/agent.ts";
import { absoluteFolders } from "../../lib/program-file.ts";
import type { Role } from "../../protocol/roles.ts";

const NEEDED = /^(?:PATH|HOME|LANG|LC_[A-Z_]+|TMPDIR|USER|SHELL|TZ|XDG_[A-Z_]+)$/;

/** Files of additional certificate authorities. */
const CERTIFICATES = /^(?:NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR)$/;

const PROXY = /^(?:(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy)$/;

/** Whether a variable is a proxy address with credentials, which is a secret like a key. */
export function isSecretProxy(name: string, value: string): boolean {
  return PROXY.test(name) && value.includes("@");
}

/** The complete environment of an agent's process: its role's, and the `BOSUN_*` variables of the wire, which a role cannot set. */
export function agentEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  request: TurnRequest,
): Record<string, string> {
  const { role, stamp, payload } = request;
  // Not every turn sets this variable, and the role must not supply it.
  const { BOSUN_TICKET_ID: _ticket, ...ofRole } = roleEnvironment(own, role);
  return {
    ...ofRole,
    BOSUN_SESSION_ID: request.session_id,
    BOSUN_TURN_ID: stamp.turn_id,
    ...(stamp.subject === undefined ? {} : { BOSUN_TICKET_ID: stamp.subject }),
    BOSUN_ATTEMPT: String(stamp.attempt),
    BOSUN_ROLE_ID: role.role_id,
    BOSUN_ARTIFACTS_DIR: payload.artifacts_dir,
    BOSUN_SLOT: String(request.slot),
    ...gitCeiling(payload.workspace, payload.home),
  };
}

/** In a copy of the repository, git looks for no other one above it. */
export function gitCeiling(directory: string, home: string | undefined): Record<string, string> {
  return home !== undefined && directory.startsWith(join(home, "sessions")) ? { GIT_CEILING_DIRECTORIES: home } : {};
}

/**
 * The environment of a role's program outside of a turn: the variables of the scheduler (`own`) that programs need to run and to reach the network,
 * those that the role's `pass_env` names, and the role's `env`. Other variables, such as keys, are not passed on.
 */
export function roleEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  { pass_env = [], env }: Pick<Role, "pass_env" | "env">,
): Record<string, string> {
  const passed = pass_env.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const]));
  return { ...passedOn(own), ...Object.fromEntries(passed), ...env };
}

/** The environment of a check: the same variables of the scheduler, and the directory of the subject's artifacts. */
export function checkEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  check: { readonly session_id: string; readonly artifacts_dir: string; readonly subject: string | undefined },
): Record<string, string> {
  return {
    ...passedOn(own),
    BOSUN_SESSION_ID: check.session_id,
    ...(check.subject === undefined ? {} : { BOSUN_TICKET_ID: check.subject }),
    BOSUN_ARTIFACTS_DIR: check.artifacts_dir,
  };
}

/**
 * The first variable named in a program's output that the scheduler has and the program was not given: the likely reason for its failure, since most
 * programs name a missing key.
 */
export function missedVariable(
  words: string,
  own: Readonly<Record<string, string | undefined>>,
  given: Readonly<Record<string, string>>,
): string | undefined {
  return words.match(/\b[A-Z][A-Z0-9_]{3,}\b/g)?.find((name) => own[name] !== undefined && given[name] === undefined);
}

function passedOn(own: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || isSecretProxy(name, value)) continue;
    if ([NEEDED, CERTIFICATES, PROXY].some((names) => names.test(name))) environment[name] = value;
  }
  return { ...environment, PATH: absoluteFolders(own["PATH"]), TERM: "dumb" };
}
