import { existsSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { realPath, textIn } from "../lib/files.ts";
import { repositoryRoot } from "../lib/git-directories.ts";
import { objectOf } from "../lib/json.ts";
import type { AgentProgramName } from "./agent-programs.ts";
import type { Environment } from "./found.ts";
import { home, jsonIn, tableOf, tomlText } from "./program-files.ts";

/** Whether an agent program trusts a workspace, and what that means for its turns. */
export interface ProgramTrust {
  readonly trusted: boolean;
  readonly what: string;
  /** How to trust it; only where that makes a difference. */
  readonly hint?: string;
}

/** Finds a program's trust in a workspace from its files, without starting it. Undefined for programs that do not ask about it in a turn. */
export function trustByFiles(
  name: AgentProgramName,
  environment: Environment,
  workspace: string,
): ProgramTrust | undefined {
  const place = realPath(workspace);
  if (name === "codex") return codexTrust(environment, place);
  return name === "gemini" ? geminiTrust(environment, place) : undefined;
}

/** Codex works in any folder; only the configuration in the folder depends on trust. */
function codexTrust(environment: Environment, workspace: string): ProgramTrust | undefined {
  const root = repositoryRoot(workspace) ?? workspace;
  const place = [workspace, root].find((folder) => existsSync(join(folder, ".codex", "config.toml")));
  if (place === undefined) return undefined;
  const own = join(place, ".codex", "config.toml");
  const text = textIn(join(environment.CODEX_HOME ?? home(environment, ".codex"), "config.toml")) ?? "";
  const levels = [place, root].map((folder) => tomlText(tableOf(text, `projects.${folder}`), "trust_level"));
  if (levels.find((level) => level !== undefined) === "trusted") {
    return { trusted: true, what: `trusts ${workspace}: ${own} counts, and its MCP servers run` };
  }
  const what = `does not trust ${workspace}: it works there, without what ${own} says`;
  return { trusted: false, what, hint: "To use that file, start codex there once and trust the folder." };
}

/** Gemini asks for each change in a folder that it does not trust, and Bosun answers. */
function geminiTrust(environment: Environment, workspace: string): ProgramTrust {
  const folder = join(environment.GEMINI_CLI_HOME ?? home(environment), ".gemini");
  const isOn = objectOf(objectOf(jsonIn(join(folder, "settings.json"))?.security).folderTrust).enabled !== false;
  const file = environment.GEMINI_CLI_TRUSTED_FOLDERS_PATH ?? join(folder, "trustedFolders.json");
  if (!isOn || isTrusted(Object.entries(jsonIn(file) ?? {}), workspace)) {
    return { trusted: true, what: `trusts ${workspace}: the hooks and agents there count` };
  }
  return {
    trusted: false,
    what: `does not trust ${workspace}: it works there and asks for each change, which the role's permissions answer; hooks and agents there stay off`,
    hint: "To have those, start gemini there once and trust the folder.",
  };
}

/** The rule with the longest path that contains the workspace counts. */
function isTrusted(rules: readonly (readonly [path: string, level: unknown])[], workspace: string): boolean {
  const holding = rules.filter(([path, level]) => {
    const folder = level === "TRUST_PARENT" ? dirname(path) : path;
    return workspace === folder || workspace.startsWith(folder.endsWith(sep) ? folder : folder + sep);
  });
  const [longest] = holding.toSorted(([one], [other]) => other.length - one.length);
  return longest?.[1] === "TRUST_FOLDER" || longest?.[1] === "TRUST_PARENT";
}
