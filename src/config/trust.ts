import { basename, extname, join } from "node:path";
import { mkdirSync, writeFileSync } from "node:fs";
import { parseDocument } from "yaml";
import { canonicalJson } from "../lib/canonical.ts";
import { makeDirectory, ownLines, replaceOwn } from "../lib/files.ts";
import { pointerTo } from "../lib/json-pointer.ts";
import { isJsonObject, type Json, type JsonObject, listOf, objectOf } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { type Finding, printable } from "../protocol/document/problem.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { CONFIGURATION_DEFAULTS } from "../protocol/payload.ts";
import { repositoryRoot } from "../lib/git-directories.ts";
import { type Configuration, readProject } from "./configuration.ts";
import { loadDocument, problemsFailure } from "./document.ts";
import { type Environment, findProjectConfiguration } from "./found.ts";
import { stateFolder } from "./home.ts";

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
): Fallible<Power[]> {
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
function usualSettings(person: Configuration | undefined): Fallible<JsonObject> {
  const document = person?.settings && loadDocument(person.settings);
  if (document?.ok === false) return err(problemsFailure([document.error]));
  const { budget, review, proposal } = CONFIGURATION_DEFAULTS;
  const own = objectOf(document?.value.value);
  return ok({ review, proposal, isolation: "worktree", ...own, budget: { ...budget, ...objectOf(own.budget) } });
}

/** Whether a project may set this value without trust, where the `usual` one would apply without it. */
type Harmless = (value: Json, usual: Json | undefined) => boolean;

const limits =
  "max_workers max_retries max_attempts retry_backoff_ms timeout_s idle_timeout_s kill_grace_s answer_grace_s \
max_line_bytes max_output_bytes max_review_rounds check_rounds max_clarification_rounds max_escalations max_recoveries max_hold_s \
dependency_notice_s discussion.timeout_s".split(" ");
for (const budget of ["budget", "budget.ticket", "discussion.budget"])
  limits.push(...["turns", "tokens", "usd", "wall_s"].map((kind) => `${budget}.${kind}`));

/** A larger number lets a session use more. */
const isWithin: Harmless = (value, usual) =>
  isJsonObject(value)
    ? Object.entries(value).every(([name, one = null]) => isWithin(one, objectOf(usual)[name]))
    : !(Number(value) > Number(usual));
const isUsual: Harmless = (value, usual) => canonicalJson(value) === canonicalJson(usual ?? null);
const areTexts: Harmless = (value, own) =>
  (own === undefined || isUsual(value, own)) &&
  listOf(value).every((check) => Object.keys(objectOf(check)).every((key) => key === "text"));

/** What a project may set without trust. A setting that is not here needs trust: a new one is closed until it is. */
const SETTINGS = new Map<string, Harmless>([
  ...limits.map((field) => [field, isWithin] as const),
  ["accounts.*.reserve", (value, own) => !(Number(value) < Number(own))],
  ["checks.merge", areTexts],
  ["checks.ticket", areTexts],
  ["confirm", (value) => value === true],
  ["discussion.input", isWithin],
  ["discussion.mode", () => true],
  ["isolation", isUsual],
  ["metadata", () => true],
  ["plan_approval", (value) => value === "ask"],
  [
    "proposal",
    (value, usual) => DISCUSSED.slice(DISCUSSED.indexOf(isJsonObject(usual) ? "risk" : usual)).includes(value),
  ],
  ["review", isUsual],
]);

/** The values of `proposal`, from least to most discussion before the work. Words of one's own are none of them. */
const DISCUSSED: readonly (Json | undefined)[] = ["never", "risk", "always"];

/** What the settings of a project need trust for. */
export function settingPowers(settings: JsonObject, usual: JsonObject, path: readonly string[] = []): Finding[] {
  return Object.entries(settings).flatMap(([name, value = null]) => {
    const here = [...path, name];
    const harmless =
      SETTINGS.get(here.join(".")) ?? SETTINGS.get(here.map((part, depth) => (depth === 1 ? "*" : part)).join("."));
    if (harmless === undefined && isJsonObject(value)) return settingPowers(value, objectOf(usual[name]), here);
    if (harmless?.(value, usual[name]) === true) return [];
    const instead = usual[name] === undefined ? "" : `, not ${shown(usual[name])}`;
    return [{ pointer: here.reduce(pointerTo, ""), what: `${here.join(".")} is ${shown(value)}${instead}` }];
  });
}

/** What each role of a project's registry is: all that is set for it. Each takes a seat, so none is free. */
export function rolePowers({ roles }: JsonObject): Finding[] {
  return listOf(roles).map((entry, index) => {
    const { role_id = index + 1, cli_command, ...rest } = objectOf(entry);
    const runs = cli_command === undefined ? "takes a seat" : `runs ${shown(cli_command)}`;
    const others = Object.entries(rest).map(([field, value]) => `, ${field} ${shown(value)}`);
    const name = typeof role_id === "string" && /^\S{1,64}$/.test(role_id) ? role_id : shown(role_id);
    return { pointer: `/roles/${index}`, what: `the role ${name} ${runs}${others.join("")}` };
  });
}

/** The most characters that are shown of a text. */
const SHOWN = 300;

function shown(value: Json = null): string {
  const cut = (_key: string, text: unknown) =>
    typeof text === "string" && text.length > SHOWN
      ? `${text.slice(0, SHOWN).toWellFormed()}… (${text.length} characters in all)`
      : text;
  return JSON.stringify(value, cut);
}

/** Whether the user trusted the project's configuration with the content that was read. */
export function isTrusted(environment: Environment, { content }: Configuration): boolean {
  return ownLines(fileOf(environment)).includes(content);
}

/**
 * Remembers that the user trusts a project's configuration with the content that was read; a change of any file ends that. Failure `trust` if it has
 * already changed, `environment` if that cannot be written.
 */
export function rememberTrust(environment: Environment, { found, content }: Configuration): Fallible<void> {
  const now = readProject(found);
  if (!now.ok) return now;
  if (now.value.content !== content) {
    const what = `${found.folder} has changed since its powers were shown, so it is not trusted.`;
    return fails("trust", what, { hint: "See what it can do now: bosun trust." });
  }
  const file = fileOf(environment);
  const path = content.slice(content.indexOf(" "));
  const others = ownLines(file).filter((one) => !one.endsWith(path));
  try {
    makeDirectory(stateFolder(environment));
    replaceOwn(file, [...others, content]);
    return ok(undefined);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const hint = "Make it writable, or name the files of the configuration with --roles and --config.";
    const what = `${file} cannot be written (${code}), so the trust would be forgotten.`;
    return fails("environment", what, { hint });
  }
}

/** Trusts the project's configuration if it holds just these texts, by their paths: what was written here. False if there is anything else. */
export function trustWritten(
  environment: Environment,
  directory: string,
  written: ReadonlyMap<string, string>,
): Fallible<boolean> {
  const found = findProjectConfiguration(directory);
  const now = found.ok ? found.value && readProject(found.value) : found;
  if (!now?.ok) return now ?? ok(false);
  const files = filesOf(now.value);
  if (files.size !== written.size || [...files].some(([path, text]) => written.get(path) !== text)) return ok(false);
  const remembered = rememberTrust(environment, now.value);
  return remembered.ok ? ok(true) : remembered;
}

function filesOf({ settings, roles, crews, prompts }: Configuration): Map<string, string> {
  const files = [settings, roles, ...crews, ...prompts].filter((file) => file !== undefined);
  return new Map(files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString()]));
}

function fileOf(environment: Environment): string {
  return join(stateFolder(environment), "trusted");
}

/** Adds a command to `allowed_commands` of the project's settings, which stay trusted. Returns the file. Failures: `trust`, `configuration`, `environment`. */
export function allowAlways(environment: Environment, workspace: string, command: string): Fallible<string> {
  const found = findProjectConfiguration(workspace);
  const before = found.ok ? found.value && readProject(found.value) : found;
  if (before?.ok === false) return before;
  const folder = before?.value.found.folder ?? join(repositoryRoot(workspace) ?? workspace, ".bosun");
  const untrusted = () => fails("trust", `${folder} is not trusted.`, { hint: "Read it, and run bosun trust." });
  if (before && !isTrusted(environment, before.value)) return untrusted();
  const file = before?.value.settings?.path ?? join(folder, "scheduler_config.yaml");
  const files = before ? filesOf(before.value) : new Map<string, string>();
  try {
    const document = parseDocument(files.get(file) ?? "");
    if (document.has("allowed_commands")) document.addIn(["allowed_commands"], command);
    else document.set("allowed_commands", [command]);
    files.set(file, extname(file) === ".json" ? `${JSON.stringify(document, undefined, 2)}\n` : String(document));
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, files.get(file) ?? "");
  } catch (error) {
    return fails("environment", `${file} cannot be changed: ${(error as Error).message}.`);
  }
  const trusted = trustWritten(environment, workspace, files);
  if (!trusted.ok) return trusted;
  return trusted.value ? ok(file) : untrusted();
}
