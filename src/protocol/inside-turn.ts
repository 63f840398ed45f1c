import { type Failure, failure } from "./failure.ts";

type Environment = { readonly [name: string]: string | undefined };

/**
 * The turn or check in which a program with this environment runs, in words, by the variables that every agent and check gets (SPEC.md 5.2). Undefined
 * for a person's programs, which that of a notification is. Who unsets the variables is not recognised: this guides a helpful model, and stops no other.
 */
export function insideOf(environment: Environment): string | undefined {
  const { BOSUN_SESSION_ID = "", BOSUN_ARTIFACTS_DIR = "", BOSUN_TURN_ID = "", BOSUN_EVENT = "" } = environment;
  if (BOSUN_SESSION_ID === "" || BOSUN_ARTIFACTS_DIR === "") return undefined;
  if (BOSUN_TURN_ID !== "") return `turn ${BOSUN_TURN_ID} of ${BOSUN_SESSION_ID}`;
  return BOSUN_EVENT === "" ? `a check of ${BOSUN_SESSION_ID}` : undefined;
}

/** Refuses a command that takes a person's decision where an agent or a check runs it. */
export function onlyForPeople(command: string, environment: Environment): Failure | undefined {
  const inside = insideOf(environment);
  const message = `bosun ${command} takes a person's decision, and this is ${inside}.`;
  const hint = "Say in your answer what you need: a person decides it, at a terminal of their own.";
  return inside === undefined ? undefined : failure("not_permitted", message, { hint });
}
