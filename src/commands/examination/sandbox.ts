import { SANDBOX_LEVELS, sandboxMechanism } from "../../agents/isolation/probe.ts";
import { defaultSandbox } from "../../config/role-defaults.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { Role, Sandbox } from "../../protocol/roles.ts";
import { because, type Finding } from "./finding.ts";

const EFFECT: Readonly<Record<(typeof SANDBOX_LEVELS)[number], string>> = {
  processes: "no process outlives the agent",
  files: "also no writes outside its own directories",
  offline: "also no network",
};

/** The sandbox of a role: the one its registry requires, else the default as far as this machine supports it. */
export async function sandboxOf(role: Role, path: string | undefined): Promise<Sandbox> {
  const level = role.sandbox ?? defaultSandbox(role);
  if (level === "none" || role.sandbox !== undefined) return level;
  for (const one of new Set([level, "processes"] as const)) if ((await sandboxMechanism(one, path)).ok) return one;
  return "none";
}

/** Why this machine cannot give a role the sandbox it requires: `environment`; undefined if it can. */
export async function missingSandbox(
  { role_id, sandbox }: Role,
  path: string | undefined,
): Promise<Failure | undefined> {
  if (sandbox === undefined || sandbox === "none") return undefined;
  const mechanism = await sandboxMechanism(sandbox, path);
  if (mechanism.ok) return undefined;
  const { message, hint } = mechanism.error;
  return failure("environment", `The role ${role_id} requires the sandbox "${sandbox}". ${message}`, { hint });
}

/** Each level, with the program that provides it on this machine or why none does. */
export async function sandboxFindings(path: string | undefined): Promise<Finding[]> {
  return Promise.all(
    SANDBOX_LEVELS.map(async (level): Promise<Finding> => {
      const name = `sandbox ${level}`;
      const mechanism = await sandboxMechanism(level, path);
      if (mechanism.ok) {
        const { value } = mechanism;
        const by = value.by === "unshare" ? value.unshare : value.bwrap;
        return { name, state: "ok", what: `${EFFECT[level]}, by ${by}` };
      }
      // Every agent gets `processes` by default; the others only on request.
      return { ...because(name, mechanism.error), state: level === "processes" ? "poor" : "off" };
    }),
  );
}
