import { dirname, resolve } from "node:path";
import { isJsonObject, type Json, type JsonObject } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { CONFIGURATION_DEFAULTS, type ResolvedConfiguration } from "../protocol/payload.ts";
import type { Role } from "../protocol/roles.ts";
import { budgetProblems } from "./budgets.ts";
import { loadDocument, type PlaceProblem, MAX_CONFIGURATION_BYTES } from "./document.ts";
import type { Environment } from "./found.ts";
import { explain, type Problem, problemsFailure } from "./problem.ts";
import { costsMoney } from "./role-defaults.ts";
import { checkSchema } from "./schema-check.ts";
import { environmentTexts, type GivenText, type GivenValue, givenValues } from "./setting-text.ts";

/** Where settings can come from. Of two places that give the same one, the first in `flags > config > environment > project > user > default` holds. */
export interface SettingPlaces {
  readonly flags: readonly GivenText[];
  /** The file of `--config`. */
  readonly config?: string | undefined;
  /** The process's environment; only `BOSUN_<SETTING>` is read. */
  readonly environment: Environment;
  /** The project's found `scheduler_config` file, and the person's own. */
  readonly project?: string | undefined;
  readonly user?: string | undefined;
  /** The current directory, absolute: the workspace if nobody gives one. */
  readonly directory: string;
  /** Who takes part; decides whether a plan is approved by a person if nobody says. */
  readonly roles: readonly Role[];
}

/** A session's settings. */
export interface Settings {
  readonly values: ResolvedConfiguration;
  /** What gave each value that is no default, by its dotted key, `budget.turns`: a flag, a variable, or `file:line`. */
  readonly origins: ReadonlyMap<string, string>;
}

interface Layer {
  readonly value: JsonObject;
  /** By JSON pointer, the name of the place. */
  readonly where: (pointer: string) => string;
  readonly problem: PlaceProblem;
  /** What a relative `workspace` is relative to. */
  readonly base: string;
}

/**
 * The settings of a session. Failure `usage` for a wrong flag, `configuration` for a wrong file or variable, each with every
 * problem found in all places.
 */
export async function resolveSettings(places: SettingPlaces): Promise<Result<Settings, Failure>> {
  const { directory } = places;
  const layers: Layer[] = [];
  const problems: Problem[] = [];
  for (const layer of [
    fileLayer(places.user, "."),
    fileLayer(places.project, ".."),
    givenLayer("environment", environmentTexts(places.environment), directory),
    fileLayer(places.config, "."),
    givenLayer("flag", places.flags, directory),
  ]) {
    if (layer === undefined) continue;
    if (!layer.ok) {
      problems.push(...layer.error);
      continue;
    }
    const found = await checkSchema("scheduler_config", layer.value.value, layer.value.problem);
    problems.push(
      ...(found.length > 0 ? found : [...ticketBudgetProblems(layer.value), ...checkProblems(layer.value)]),
    );
    layers.push(layer.value);
  }
  if (problems.length > 0) return err(asFailure(problems));
  return ok(merge(layers, places));
}

function ticketBudgetProblems({ value, problem }: Layer): Problem[] {
  const { budget } = value as Pick<Partial<ResolvedConfiguration>, "budget">;
  return budgetProblems(budget?.ticket, "/budget/ticket", "a ticket", problem);
}

/** A check that nothing can be run for would be accepted and check nothing. */
function checkProblems({ value, problem }: Layer): Problem[] {
  const { checks } = value as Pick<Partial<ResolvedConfiguration>, "checks">;
  return (checks?.ticket ?? []).flatMap((check, index) =>
    typeof check === "object" && check.command !== undefined
      ? []
      : problem(`/checks/ticket/${index}`, "this check has no command, so nothing would be checked", {
          expected: "a text and a command: {text: the tests pass, command: [npm, test]}",
        }),
  );
}

/** The settings of a file; a relative workspace in it is relative to `base`, seen from the file's folder. */
function fileLayer(file: string | undefined, base: "." | ".."): Result<Layer, Problem[]> | undefined {
  if (file === undefined) return undefined;
  const document = loadDocument(file, MAX_CONFIGURATION_BYTES);
  if (!document.ok) return err([document.error]);
  const { value, problem } = document.value;
  // A value that is no mapping has no settings to merge; checking it against the schema says so.
  const where = (pointer: string) => `${file}:${problem(pointer, "").place?.line ?? 1}`;
  return ok({ value: value as JsonObject, where, problem, base: resolve(dirname(file), base) });
}

function givenLayer(
  place: "flag" | "environment",
  texts: readonly GivenText[],
  base: string,
): Result<Layer, Problem[]> {
  const given = givenValues(texts);
  if (!given.ok) return given;
  const value: Record<string, Json> = {};
  for (const { key, value: one } of given.value) putAt(value, key.split("."), one);
  const where = (pointer: string) => nameAt(given.value, pointer) ?? place;
  const problem: PlaceProblem = (pointer, what, { at: _at, ...more } = {}) => ({
    file: where(pointer),
    pointer,
    what,
    ...more,
  });
  return ok({ value, where, problem, base });
}

function nameAt(given: readonly GivenValue[], pointer: string): string | undefined {
  return given.find(({ key }) => `/${key.replaceAll(".", "/")}` === pointer)?.name;
}

function putAt(target: Record<string, Json>, path: readonly string[], value: Json): void {
  const [head = "", ...rest] = path;
  if (rest.length === 0) {
    target[head] = value;
    return;
  }
  const inner = { ...(target[head] as Record<string, Json> | undefined) };
  putAt(inner, rest, value);
  target[head] = inner;
}

function merge(layers: readonly Layer[], places: SettingPlaces): Settings {
  const origins = new Map<string, string>();
  const values: Record<string, Json> = {};
  const started: readonly [string, Json][] = [
    ["workspace", places.directory],
    ["plan_approval", places.roles.some(costsMoney) ? "ask" : "never"],
    ...leaves(CONFIGURATION_DEFAULTS, ""),
  ];
  for (const [key, value] of started) putAt(values, key.split("."), value);
  for (const layer of layers) {
    for (const [key, value] of leaves(layer.value, "")) {
      if (JSON.stringify(value) === "{}") continue; // gives nothing, and must not wipe what is below it
      const settled = key === "workspace" ? resolve(layer.base, value as string) : value;
      putAt(values, key.split("."), settled);
      origins.set(key, layer.where(`/${key.replaceAll(".", "/")}`));
    }
  }
  return { values: values as unknown as ResolvedConfiguration, origins };
}

/** The settings of a mapping by dotted key; a mapping inside is opened, but `metadata`, which is nobody's but its writer's. */
function leaves(value: JsonObject, prefix: string): [string, Json][] {
  return Object.entries(value).flatMap(([name, inner]): [string, Json][] => {
    const key = `${prefix}${name}`;
    if (inner === undefined) return [];
    const opens = isJsonObject(inner) && key !== "metadata" && Object.keys(inner).length > 0;
    return opens ? leaves(inner, `${key}.`) : [[key, inner]];
  });
}

function asFailure(problems: readonly Problem[]): Failure {
  const flagged = problems.every((problem) => problem.file.startsWith("--"));
  return flagged ? failure("usage", problems.flatMap(explain).join("\n")) : problemsFailure(problems);
}
