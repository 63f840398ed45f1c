import { addressFrom, type ModelAddress } from "../harness/providers.ts";
import { defined } from "../lib/json.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";
import type { Environment } from "./found.ts";

type ModelFields = Pick<Role, "provider" | "model" | "base_url" | "api_key_env" | "structured_output">;

/**
 * Where a role's model is: what the role says, then `LLM_PROVIDER`, `LLM_MODEL`, `LLM_BASE_URL` and the provider's key of the environment, then the
 * provider's defaults. Fails with `configuration`, naming the variable if the key is missing.
 */
export function modelAddress(
  role: Pick<Role, "role_id"> & ModelFields,
  environment: Environment,
): Fallible<ModelAddress> {
  const { role_id, provider, model, base_url, api_key_env, structured_output } = role;
  const choice = { provider, model, baseURL: base_url, keyVariable: api_key_env, structuredOutput: structured_output };
  const address = addressFrom(environment, defined(choice));
  if (address.ok) return address;
  return fails("configuration", `The model of the role ${role_id} cannot be used: ${address.error}`, {
    hint: "`bosun models` lists the providers and what each needs.",
  });
}

/** The fields of a model role with what the environment and the provider say. As they are, if the address is wrong: that is told when it is used. */
export function completeModel(role: Role, environment: Environment): ModelFields {
  const address = role.backend === "model" ? modelAddress(role, environment) : undefined;
  if (!address?.ok) return {};
  const { provider, model, baseURL, keyVariable, structuredOutput } = address.value;
  const structured_output = structuredOutput ?? (provider === "openai-compatible" ? "json" : "schema");
  return { provider, model, structured_output, ...defined({ base_url: baseURL, api_key_env: keyVariable }) };
}

/** Roles at one server with one key share its limits. */
export function accountOf({ base_url, api_key_env }: ModelFields): string | undefined {
  if (base_url === undefined) return undefined;
  return [new URL(base_url).host, api_key_env]
    .filter((part) => part !== undefined)
    .join(" ")
    .slice(0, 128);
}
