import { relative } from "node:path";
import type { Command } from "commander";
import { leaves, type Origin, type Settings } from "../config/settings.ts";
import { isJsonObject, type Json, type JsonObject } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeJson, safeLine } from "../ui/display.ts";
import { tableLines } from "../ui/table.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext } from "./context/command.ts";
import { withCrew } from "./options/crew-choice.ts";
import { addPlanOptions, addSettingOptions, settingFlags, type SettingOptions } from "./options/ready.ts";
import {
  addRegistryOptions,
  addSeatOptions,
  findConfiguration,
  loadRegistry,
  type RegistryOptions,
  settingsFrom,
} from "./options/registry.ts";

interface ConfigOptions extends RegistryOptions, SettingOptions {
  readonly json?: boolean;
}

/** A setting with its source. The value is absent if it may be a secret. */
interface Shown {
  readonly key: string;
  readonly value?: Json;
  readonly hidden?: true;
  readonly from: Origin["from"];
  readonly where?: string;
}

/** `bosun config`: shows the settings of a run with these flags, and the source of each. */
export function register(command: Command): Action<ConfigOptions> {
  addSettingOptions(command);
  addPlanOptions(command);
  addRegistryOptions(command);
  addSeatOptions(command);
  command.option("--json", "one JSON value on stdout");
  return async (context, _words, given) => {
    const { out, hasPerson } = context.terminal;
    const found = findConfiguration(context, given, given.cwd ?? context.directory);
    if (!found.ok) return found;
    // Some defaults depend on the crew that a run would choose at this terminal.
    const options = hasPerson ? await withCrew(context, given, found.value) : ok(given);
    if (!options.ok) return options;
    const roles = await loadRegistry(options.value, found.value);
    if (!roles.ok) return roles;
    const settings = await settingsFrom(context, given, found.value, settingFlags(given), roles.value, hasPerson);
    if (!settings.ok) return settings;
    const shown = shownOf(settings.value);
    if (given.json === true) {
      const { user, project } = found.value;
      const file = (one: typeof user) => one?.settings?.path ?? null;
      const files = { config: given.config ?? null, project: file(project), user: file(user) };
      out.line(safeJson({ files, settings: shown }));
      return ok(EXIT_DONE);
    }
    const rows = shown.map(({ key, value, hidden, from, where }) => [
      key,
      hidden === true ? "(hidden)" : typeof value === "string" ? value : JSON.stringify(value),
      where === undefined ? from : shortPath(context, where),
    ]);
    const columns = [{ heading: "SETTING" }, { heading: "VALUE", width: 40 }, { heading: "FROM" }];
    const [heading = "", ...lines] = tableLines(columns, rows, out.width);
    out.line(heading);
    for (const [index, line] of lines.entries())
      out.line(shown[index]?.from === "default" ? out.style("dim", line) : line);
    tellNext(out, "bosun roles");
    return ok(EXIT_DONE);
  };
}

function shownOf({ values, auth_profiles, origins }: Settings): Shown[] {
  // The templates are not settings of a file: `bosun roles --prompts` shows them.
  const settings = { ...values, prompts: undefined, ...(Object.keys(auth_profiles).length > 0 && { auth_profiles }) };
  return leaves(settings as unknown as JsonObject, "").map(([key, value]): Shown => {
    const origin = origins.get(key);
    const source = origin === undefined || origin.from === "default" ? ({ from: "default" } as const) : origin;
    return /\.env\./.test(key) ? { key, hidden: true, ...source } : { key, value: withoutValues(value), ...source };
  });
}

/** Replaces a mapping of variables with the list of their names, because the values may be secrets. */
function withoutValues(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutValues);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, inner = null]) => [
    name,
    name === "env" && isJsonObject(inner) ? Object.keys(inner) : withoutValues(inner),
  ]);
  return Object.fromEntries(entries) as Json;
}

/** Shortens a path: relative if it is below the current directory, with `~` if it is below the user's home. */
function shortPath({ directory, environment: { HOME } }: CommandContext, where: string): string {
  const below = (folder: string) => where.startsWith(`${folder}/`);
  if (below(directory)) return relative(directory, where);
  return safeLine(HOME !== undefined && below(HOME) ? `~/${relative(HOME, where)}` : where);
}
