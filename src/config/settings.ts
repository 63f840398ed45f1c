import { dirname, resolve } from "node:path";
import { isJsonObject, type Json, type JsonObject, objectOf } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { explain, type Finding, type Problem } from "../protocol/document/problem.ts";
import { failure, type Fallible } from "../protocol/failure.ts";
import {
  type AuthProfiles,
  CONFIGURATION_DEFAULTS,
  type ResolvedConfiguration,
  type SchedulerConfiguration,
} from "../protocol/payload.ts";
import type { Role } from "../protocol/roles.ts";
import { loadDocument, problemsFailure, problemsIn } from "./document.ts";
import { profileFindings } from "./auth-profiles.ts";
import type { Environment } from "./found.ts";
import { shipped } from "../lib/files.ts";
import { pathOf, type TextSource } from "./read-text.ts";
import { costsMoney, isEmbedded } from "./role-defaults.ts";
import { budgetFindings, checkSchema } from "./schema-check.ts";
import { environmentTexts, type GivenText, givenValues, keyPointer } from "./setting-text.ts";

/** Sources of settings. For each setting the first source that gives it wins: `flags > config > environment > project > user > the shipped file`. */
export interface SettingSources {
  readonly flags: readonly GivenText[];
  /** The file of `--config`. */
  readonly config?: TextSource | undefined;
  /** The process's environment; only `BOSUN_<SETTING>` is read. */
  readonly environment: Environment;
  /** The project's `scheduler_config` file, and the user's own. */
  readonly project?: TextSource | undefined;
  readonly user?: TextSource | undefined;
  /** The current directory, absolute: the default workspace. */
  readonly directory: string;
  /** The roles of the session; they decide the defaults of `plan_approval` and `confirm`. */
  readonly roles: readonly Role[];
  /** Whether a person at a terminal is asked, so that these defaults apply to every crew but the embedded one. */
  readonly at_terminal: boolean;
}

export interface Settings {
  readonly values: ResolvedConfiguration;
  /** Applied to the roles when a session begins, and not recorded. */
  readonly auth_profiles: AuthProfiles;
  /** The source of each value by its dotted key, `budget.turns`. Defaults that depend on circumstances have none. */
  readonly origins: ReadonlyMap<string, Origin>;
}

/** Where a value comes from: the kind of source, and its name (a flag, a variable or `file:line`). */
export interface Origin {
  readonly from: "flag" | "environment" | "file" | "default";
  readonly where: string;
}

interface Layer {
  readonly value: JsonObject;
  readonly from: Origin["from"];
  /** The name of the source at a JSON pointer. */
  readonly origin: (pointer: string) => string;
  readonly problems: (findings: readonly Finding[]) => Problem[];
  /** A relative `workspace` is relative to this folder. */
  readonly base: string;
}

/**
 * Resolves the settings of a session. Failure `usage` for an invalid flag, `configuration` for an invalid file or variable, each with every problem
 * found in all sources.
 */
export async function resolveSettings(sources: SettingSources): Promise<Fallible<Settings>> {
  const { directory } = sources;
  const layers: Layer[] = [];
  const problems: Problem[] = [];
  for (const layer of [
    fileLayer(shipped("config", "scheduler_config.json"), ".", "default"),
    fileLayer(sources.user, "."),
    fileLayer(sources.project, ".."),
    textLayer("environment", environmentTexts(sources.environment), directory),
    fileLayer(sources.config, "."),
    textLayer("flag", sources.flags, directory),
  ]) {
    if (layer === undefined) continue;
    if (!layer.ok) {
      problems.push(...layer.error);
      continue;
    }
    const { value } = layer.value;
    const broken = await checkSchema("scheduler_config", value);
    problems.push(...layer.value.problems(broken.length > 0 ? broken : uselessSettings(value)));
    layers.push(layer.value);
  }
  if (problems.length === 0) return ok(merge(layers, sources));
  const flagged = problems.every((problem) => problem.file.startsWith("--"));
  return err(flagged ? failure("usage", problems.flatMap(explain).join("\n")) : problemsFailure(problems));
}

/** Finds settings that fit the schema but would limit or check nothing. */
function uselessSettings(value: JsonObject): Finding[] {
  const { budget, checks, auth_profiles = {} } = value as SchedulerConfiguration;
  const expected = "a text and a command: {text: the tests pass, command: [npm, test]}";
  const withoutCommand = (checks?.ticket ?? []).flatMap((check, index) =>
    typeof check === "object" && check.command !== undefined ? [] : `/checks/ticket/${index}`,
  );
  return [
    ...budgetFindings(budget?.ticket, "/budget/ticket", "a ticket"),
    ...profileFindings(auth_profiles),
    ...withoutCommand.map((pointer) => ({ pointer, what: "this check has no command", expected })),
  ];
}

/** Reads the settings of a file. A relative workspace in it is relative to `base`, starting from the file's folder. */
function fileLayer(
  source: TextSource | undefined,
  base: "." | "..",
  from: "file" | "default" = "file",
): Result<Layer, Problem[]> | undefined {
  if (source === undefined) return undefined;
  const file = pathOf(source);
  const document = loadDocument(source);
  if (!document.ok) return err([document.error]);
  return ok({
    // If this is not a mapping, the schema check reports it.
    value: document.value.value as JsonObject,
    from,
    origin: (pointer) => `${file}:${document.value.position(pointer).line}`,
    problems: (findings) => problemsIn(document.value, findings),
    base: resolve(dirname(file), base),
  });
}

/** The settings given as text. If one is given twice, the last one counts. */
function textLayer(from: "flag" | "environment", texts: readonly GivenText[], base: string): Result<Layer, Problem[]> {
  const given = givenValues(texts);
  if (!given.ok) return given;
  const value = given.value.reduce<JsonObject>((all, [key, one]) => withSetting(all, key.split("."), one), {});
  const origin = (pointer: string) => texts.findLast(({ key }) => keyPointer(key) === pointer)?.name ?? from;
  const problems = (findings: readonly Finding[]) =>
    findings.map(({ at: _at, ...finding }) => ({ file: origin(finding.pointer), ...finding }));
  return ok({ value, from, origin, problems, base });
}

function withSetting(settings: JsonObject, [head = "", ...rest]: readonly string[], value: Json): JsonObject {
  return { ...settings, [head]: rest.length === 0 ? value : withSetting(objectOf(settings[head]), rest, value) };
}

function merge(layers: readonly Layer[], sources: SettingSources): Settings {
  const origins = new Map<string, Origin>();
  const { roles, at_terminal, directory } = sources;
  const asks = at_terminal && !roles.every(isEmbedded);
  let values: JsonObject = {
    workspace: directory,
    plan_approval: asks || roles.some(costsMoney) ? "ask" : "never",
    confirm: asks,
    ...CONFIGURATION_DEFAULTS,
  };
  for (const layer of layers) {
    for (const [key, value] of leaves(layer.value, "")) {
      if (JSON.stringify(value) === "{}") continue; // an empty mapping must not replace the settings of the layers below
      const set = key === "workspace" ? resolve(layer.base, value as string) : value;
      values = withSetting(values, key.split("."), set);
      origins.set(key, { from: layer.from, where: layer.origin(keyPointer(key)) });
    }
  }
  const { auth_profiles = {}, ...resolved } = values;
  return {
    values: resolved as unknown as ResolvedConfiguration,
    auth_profiles: auth_profiles as unknown as AuthProfiles,
    origins,
  };
}

/** Flattens a mapping to settings by dotted key, except for `metadata`, whose content Bosun does not read. */
export function leaves(value: JsonObject, prefix: string): [string, Json][] {
  return Object.entries(value).flatMap(([name, inner]): [string, Json][] => {
    const key = `${prefix}${name}`;
    if (inner === undefined) return [];
    const opens = isJsonObject(inner) && key !== "metadata" && Object.keys(inner).length > 0;
    return opens ? leaves(inner, `${key}.`) : [[key, inner]];
  });
}
