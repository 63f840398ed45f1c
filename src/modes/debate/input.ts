import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import type { Until } from "./state.ts";

/** The input of a debate, from `session_opened`. */
export interface DebateInput {
  readonly topic: string;
  /** Role ids of participants, in the order in which they are shown. */
  readonly debaters: readonly string[];
  /** The role id of a participant or manager that is not a debater. */
  readonly judge: string;
  readonly rounds: number;
  readonly until: Until;
}

export const DEFAULT_ROUNDS = 3;
export const MAX_ROUNDS = 20;
/** Limited so that the judge's transcript of the longest debate fits into a request. */
const MAX_DEBATERS = 100;

type KnownRole = Pick<Role, "role_id" | "type">;

/**
 * Reads the input of a debate, with defaults for missing fields: 3 rounds, all of them held. Fails with `validation_failed`, and names the field and,
 * for a role, the roles that fit.
 */
export function readInput(input: unknown, roles: readonly KnownRole[]): Fallible<DebateInput> {
  const { topic, debaters, judge, rounds, until, ...unknown } = (input ?? {}) as Record<string, unknown>;
  const [stranger] = Object.keys(unknown);
  if (stranger !== undefined)
    return wrong(`has no field "${stranger}"`, "It has topic, debaters, judge, rounds, until.");
  if (typeof topic !== "string" || topic.trim() === "") return wrong("has no topic", "Say what is to be debated.");
  if (!isListOfTexts(debaters) || debaters.length < 2 || debaters.length > MAX_DEBATERS) {
    return wrong(`needs 2 to ${MAX_DEBATERS} debaters`, "Name the role ids of participants.");
  }
  const twice = debaters.find((id, index) => debaters.indexOf(id) !== index);
  if (twice !== undefined) return wrong(`names the debater "${twice}" twice`, "Give each side its own role.");
  const absent = debaters.find((id) => !roles.some((role) => role.role_id === id && role.type === "participant"));
  if (absent !== undefined) return noSuch("debater", absent, roles.filter(isParticipant));
  if (typeof judge !== "string") return wrong("has no judge", "Name the role id of a participant or manager.");
  if (debaters.includes(judge)) return wrong(`lets "${judge}" judge itself`, "Name a judge who is no debater.");
  const judges = roles.filter((role) => isParticipant(role) || role.type === "manager");
  if (!judges.some((role) => role.role_id === judge)) return noSuch("judge", judge, judges);
  if (rounds !== undefined && !isCount(rounds))
    return wrong(`cannot have ${JSON.stringify(rounds)} rounds`, `Say 1 to ${MAX_ROUNDS}.`);
  if (until !== undefined && until !== "rounds" && until !== "stable") {
    return wrong(
      `cannot last until ${JSON.stringify(until)}`,
      'Say "rounds", or "stable" to end when nobody changes position.',
    );
  }
  return ok({ topic, debaters, judge, rounds: rounds ?? DEFAULT_ROUNDS, until: until ?? "rounds" });
}

function isParticipant(role: KnownRole): boolean {
  return role.type === "participant";
}

function isListOfTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_ROUNDS;
}

function noSuch(seat: string, role_id: string, fitting: readonly KnownRole[]): Fallible<never> {
  const ids = fitting.map((role) => role.role_id).join(", ");
  return wrong(
    `names the ${seat} "${role_id}", which no fitting role has`,
    ids === "" ? "Add a participant to the roles." : `Fitting roles: ${ids}.`,
  );
}

function wrong(what: string, hint: string): Fallible<never> {
  return fails("validation_failed", `The debate ${what}.`, { hint });
}
