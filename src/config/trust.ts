import { lstatSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { canonicalJson } from "../lib/canonical.ts";
import { isJsonObject, type Json, type JsonObject, listOf, objectOf } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import { type Finding, printable } from "../protocol/document/problem.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { CONFIGURATION_DEFAULTS } from "../protocol/payload.ts";
import { networkIn } from "../protocol/roles.ts";
import { loadDocument, problemsFailure } from "./document.ts";
import { entriesOf, type FoundConfiguration } from "./found.ts";
import { withMetadata } from "./role-metadata.ts";

/** Maximum number of files in a configuration folder. */
const MAX_FILES = 1_000;

/** A found configuration that needs the user's trust. */
export interface TrustRequest {
  readonly folder: string;
  readonly powers: readonly Power[];
}

/** One dangerous effect of a configuration: its position and a description, both safe to print. */
export interface Power {
  readonly where: string;
  readonly what: string;
}

/**
 * Returns the effects that the user must trust before a project's found configuration is used; undefined if none is dangerous. Danger is measured
 * against the settings that would apply without it: the user's own, and the defaults. Files named with a flag are trusted without this. Failure
 * `trust` for a folder that could change unseen (links, too many files), `configuration` for a file that cannot be read.
 */
export function trustNeeded(
  found: FoundConfiguration,
  person: FoundConfiguration | undefined,
): Result<TrustRequest | undefined, Failure> {
  const files = filesBelow(found.folder);
  if (!files.ok) return files;
  const usual = settingsOf(person);
  if (!usual.ok) return usual;
  const powers: Power[] = [];
  for (const file of files.value) {
    if (dirname(file) === found.prompts) {
      powers.push({
        where: printable(file),
        what: printable(`agents are told what to do by its own ${basename(file)}`),
      });
    }
    const isRegistry = file === found.roles || dirname(file) === found.crews;
    if (!isRegistry && file !== found.settings) continue;
    const document = loadDocument(file);
    if (!document.ok) return err(problemsFailure([document.error]));
    const { value, position } = document.value;
    const claims = isRegistry ? rolePowers(value) : settingPowers(value, usual.value);
    for (const { pointer, what } of claims) {
      powers.push({ where: printable(`${file}:${position(pointer).line}`), what: printable(what) });
    }
  }
  return ok(powers.length === 0 ? undefined : { folder: found.folder, powers });
}

/** The settings of the user's own file; its schema is checked where it is used. */
function settingsOf(person: FoundConfiguration | undefined): Result<JsonObject, Failure> {
  if (person?.settings === undefined) return ok({});
  const document = loadDocument(person.settings);
  if (!document.ok) return err(problemsFailure([document.error]));
  return ok(objectOf(document.value.value));
}

/** Lists the paths of all files, in byte order. A link is refused, because its target could change after it was trusted. */
export function filesBelow(folder: string): Result<string[], Failure> {
  const files: string[] = [];
  const open = [folder];
  for (let directory = open.pop(); directory !== undefined; directory = open.pop()) {
    if (lstatSync(directory).isSymbolicLink()) return refused(directory, "is a symbolic link");
    const entries = entriesOf(directory);
    if (!entries.ok) return entries;
    for (const entry of entries.value ?? []) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) open.push(path);
      else if (entry.isFile()) files.push(path);
      else return refused(path, entry.isSymbolicLink() ? "is a symbolic link" : "is not an ordinary file");
    }
    if (files.length + open.length > MAX_FILES) return refused(folder, `holds more than ${MAX_FILES} files`);
  }
  return ok(files.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other))));
}

function refused(path: string, why: string): Result<never, Failure> {
  return err(
    failure("trust", `${path} ${why}, so its content could change after you trust it.`, {
      hint: "Put a plain file in its place, or name the files you want with --config and --roles.",
    }),
  );
}

function rolePowers(value: Json): Finding[] {
  return entries(value, "roles").map((role, index) => {
    const name = typeof role.role_id === "string" ? role.role_id : `number ${index + 1}`;
    const runs = Array.isArray(role.cli_command)
      ? `runs ${JSON.stringify(role.cli_command)}`
      : `is filled by ${JSON.stringify(role.backend ?? "nothing")}`;
    const env = typeof role.env === "object" ? " with variables of its own" : "";
    const passed = listOf(role.pass_env).filter((one) => typeof one === "string");
    const yours = passed.length === 0 ? "" : ` and sees ${passed.join(", ")} of your environment`;
    const { auth_profile } = objectOf(role.metadata);
    const profile = typeof auth_profile === "string" ? ` with the auth profile ${auth_profile}` : "";
    return {
      pointer: `/roles/${index}`,
      what: [`the role ${name} ${runs}${env}${profile}${yours}`, ...rightsOf(withMetadata(role))].join(", "),
    };
  });
}

/** What a role may do beyond its defaults, and its sandbox. */
function rightsOf({ permissions, metadata, sandbox, account }: JsonObject): string[] {
  const { commands, network = networkIn(objectOf(metadata).network), write } = objectOf(permissions);
  return [
    ...(listOf(commands).length > 0 ? [`may run ${JSON.stringify(commands)} unasked`] : []),
    ...(network === true ? ["may use the network"] : []),
    ...(write === "workspace" ? ["may write in the workspace"] : []),
    ...(typeof sandbox === "string" ? [`has the sandbox ${JSON.stringify(sandbox)}`] : []),
    // The user's limits may not cover an account other than the usual one.
    ...(typeof account === "string" ? [`counts for the account ${JSON.stringify(account)}`] : []),
  ];
}

/** The values of `proposal`, from least to most discussion before the work. */
const DISCUSSED: readonly Json[] = ["never", "risk", "always"];

function settingPowers(value: Json, usual: JsonObject): Finding[] {
  // Bosun does not read the metadata.
  const { metadata: _, ...settings } = objectOf(value);
  const { accounts, ...limits } = settings;
  const { checks, notify, plan_approval, confirm, workspace, review, proposal } = limits;
  const usualReview = usual.review ?? CONFIGURATION_DEFAULTS.review;
  const usualProposal = usual.proposal ?? CONFIGURATION_DEFAULTS.proposal;
  const policy = isJsonObject(proposal) ? "risk" : proposal;
  const usualPolicy = isJsonObject(usualProposal) ? "risk" : usualProposal;
  const claims: Finding[] = [];
  const claim = (pointer: string, what: string) => void claims.push({ pointer, what });
  for (const kind of ["ticket", "merge"]) {
    for (const [index, { command }] of entries(checks, kind).entries()) {
      if (command !== undefined) claim(`/checks/${kind}/${index}`, `a check runs ${JSON.stringify(command)}`);
    }
    const [own, replaced] = [objectOf(usual.checks)[kind], objectOf(checks)[kind]];
    if (own !== undefined && replaced !== undefined && canonicalJson(own) !== canonicalJson(replaced)) {
      claim(`/checks/${kind}`, `your own checks of each ${kind} are replaced`);
    }
  }
  for (const [name, profile] of Object.entries(objectOf(settings.auth_profiles))) {
    const { env, pass_env } = objectOf(profile);
    const seen = [...Object.keys(objectOf(env)), ...listOf(pass_env).filter((one) => typeof one === "string")];
    claim(`/auth_profiles/${name}`, `agents with the auth profile ${name} see ${seen.join(", ")}`);
  }
  const { command } = objectOf(notify);
  if (command !== undefined) claim("/notify/command", `a notification runs ${JSON.stringify(command)}`);
  if (plan_approval === "never") claim("/plan_approval", "plans run without your approval");
  if (confirm === false) claim("/confirm", "results are accepted without you");
  if (workspace !== undefined) claim("/workspace", `the work is done in ${JSON.stringify(workspace)}`);
  if (review !== undefined && review !== usualReview) {
    claim("/review", `work is reviewed by ${JSON.stringify(review)}, not by ${JSON.stringify(usualReview)}`);
  }
  if (DISCUSSED.indexOf(policy ?? usualPolicy) < DISCUSSED.indexOf(usualPolicy)) {
    const change = `${JSON.stringify(policy)}, not ${JSON.stringify(usualPolicy)}`;
    claim("/proposal", `work is discussed before it begins: ${change}`);
  }
  if (isJsonObject(proposal)) claim("/proposal/patterns", "other words than usual signal risk");
  for (const [name, account] of Object.entries(objectOf(accounts))) {
    const [own, reserve] = [objectOf(objectOf(usual.accounts)[name]).reserve, objectOf(account).reserve];
    if (typeof own === "number" && typeof reserve === "number" && reserve < own) {
      claim(`/accounts/${name}/reserve`, `accounts.${name}.reserve is lowered from ${own} to ${reserve}`);
    }
  }
  return [...claims, ...raised(limits, [{ budget: CONFIGURATION_DEFAULTS.budget }, usual])];
}

/** Finds numbers that are larger than in the layers `below`, the nearest last: a larger number lets a session use more. */
function raised(
  value: Json | undefined,
  below: readonly (Json | undefined)[],
  path: readonly string[] = [],
): Finding[] {
  if (isJsonObject(value)) {
    return Object.entries(value).flatMap(([name, inner]) => {
      const limits = below.map((one) => (isJsonObject(one) ? one[name] : undefined));
      return raised(inner, limits, [...path, name]);
    });
  }
  const limit = below.findLast((one) => typeof one === "number");
  if (typeof value !== "number" || limit === undefined || value <= limit) return [];
  return [{ pointer: ["", ...path].join("/"), what: `${path.join(".")} is raised from ${limit} to ${value}` }];
}

function entries(value: Json | undefined, key: string): JsonObject[] {
  return listOf(objectOf(value)[key]).map(objectOf);
}
