import { basename } from "node:path";
import { type JsonObject, objectOf } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { printable } from "../protocol/document/problem.ts";
import type { Failure } from "../protocol/failure.ts";
import { CONFIGURATION_DEFAULTS } from "../protocol/payload.ts";
import type { Configuration } from "./configuration.ts";
import { loadDocument, problemsFailure } from "./document.ts";
import { rolePowers, settingPowers } from "./project-fields.ts";

/** One dangerous effect of a configuration: its position and a description, both safe to print. */
export interface Power {
  readonly where: string;
  readonly what: string;
}

/**
 * Returns the effects that the user must trust before a project's configuration is used; none if it may be used as it is. Danger is measured against the
 * settings that would apply without it: the user's own, and the defaults. Files named with a flag are trusted without this. Failure `configuration` for a
 * file that cannot be understood.
 */
export function trustNeeded(
  { prompts, crews, roles, settings }: Configuration,
  person: Configuration | undefined,
): Result<Power[], Failure> {
  const usual = usualSettings(person);
  if (!usual.ok) return usual;
  const powers: Power[] = [];
  const claim = (where: string, what: string) => void powers.push({ where: printable(where), what: printable(what) });
  for (const { path } of prompts) claim(path, `agents are told what to do by its own ${basename(path)}`);
  for (const file of [...crews, roles, settings].filter((one) => one !== undefined)) {
    const document = loadDocument(file);
    if (!document.ok) return err(problemsFailure([document.error]));
    const { value, position } = document.value;
    const claims = file === settings ? settingPowers(objectOf(value), usual.value) : rolePowers(objectOf(value));
    for (const { pointer, what } of claims) claim(`${file.path}:${position(pointer).line}`, what);
  }
  return ok(powers);
}

/** The settings that apply without the project; their schema is checked where they are used. */
function usualSettings(person: Configuration | undefined): Result<JsonObject, Failure> {
  const document = person?.settings && loadDocument(person.settings);
  if (document?.ok === false) return err(problemsFailure([document.error]));
  const { budget, review, proposal, isolation } = CONFIGURATION_DEFAULTS;
  const own = objectOf(document?.value.value);
  return ok({ review, proposal, isolation, ...own, budget: { ...budget, ...objectOf(own.budget) } });
}
