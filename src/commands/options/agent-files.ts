import { join, relative, resolve } from "node:path";
import type { Command } from "commander";
import {
  type AgentFile,
  agentFindings,
  AGENTS_FOLDER,
  agentFilesIn,
  agentTemplates,
  readAgentFile,
  roleOfAgent,
} from "../../config/agent-files.ts";
import { isEmbedded } from "../../config/role-defaults.ts";
import { isDirectory } from "../../lib/files.ts";
import { didYouMean } from "../../lib/nearest.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { err, ok } from "../../lib/result.ts";
import { fails, type Failure, failure, type Fallible } from "../../protocol/failure.ts";
import type { Role } from "../../protocol/roles.ts";
import { safeLine } from "../../ui/display.ts";
import type { CommandContext } from "../context/command.ts";

interface AgentsOption {
  readonly agentsDir?: string;
}

/** What other commands about agent files are told. */
export interface AgentsOptions extends AgentsOption {
  readonly json?: boolean;
}

export function addAgentsOption(command: Command): void {
  command.option("--agents-dir <directory>", `where agent files are (default: ${AGENTS_FOLDER}/ here)`);
}

/** The agent files of a folder, which need not be there unless it is named. */
interface AgentFolder {
  /** As it is shown. */
  readonly shown: string;
  readonly path: string;
  readonly files: ReadonlyMap<string, readonly string[]>;
}

/** Finds the agent files. Failures: `usage` for a folder that is named and not there, `configuration`. */
function agentFolder({ directory }: CommandContext, { agentsDir }: AgentsOption): Fallible<AgentFolder> {
  const shown = agentsDir ?? `${AGENTS_FOLDER}/`;
  const path = resolve(directory, shown);
  if (agentsDir !== undefined && !isDirectory(path)) {
    const hint = 'Name a folder with agent files, or make one: bosun agents build --name NAME --description "…"';
    return fails("usage", `--agents-dir ${JSON.stringify(agentsDir)} is no folder.`, { hint });
  }
  const files = agentFilesIn(path);
  return files.ok ? ok({ shown, path, files: files.value }) : files;
}

/**
 * The registry with the agents of these ids that it does not have; the embedded crew does not count. Only their files are read: `others` are the names of
 * those that are left. Failures: as `agentFolder`, and those of a file that is named.
 */
export async function withAgentFiles(
  context: CommandContext,
  options: AgentsOption,
  ids: readonly string[],
  registry: readonly Role[],
): Promise<Fallible<{ readonly roles: readonly Role[]; readonly others: readonly string[] }>> {
  const folder = agentFolder(context, options);
  if (!folder.ok) return folder;
  const { files } = folder.value;
  const own = new Set(registry.flatMap((role) => (isEmbedded(role) ? [] : [role.role_id])));
  const agents = new Map<string, Role>();
  for (const id of ids) {
    const paths = files.get(id);
    if (paths === undefined || agents.has(id)) continue;
    if (own.has(id)) {
      const what = `The role "${id}" of your registry counts, not ${paths.join(" or ")}.`;
      context.terminal.err.line(context.terminal.err.style("yellow", safeLine(what)));
      continue;
    }
    const agent = await readAgentFile(paths);
    if (!agent.ok) return agent;
    agents.set(id, roleOfAgent(agent.value));
  }
  const roles = [...registry.filter(({ role_id }) => !agents.has(role_id)), ...agents.values()];
  return ok({ roles, others: [...files.keys()].filter((name) => !own.has(name) && !agents.has(name)) });
}

/** The failure for an agent that no file has, with those there are. */
function noAgent(name: string, { shown, files }: AgentFolder): Failure {
  const names = [...files.keys()];
  const there = names.length === 0 ? `No agent file is in ${shown}` : `In ${shown} there are ${names.join(", ")}`;
  return failure("not_found", `There is no agent ${JSON.stringify(name)}.${didYouMean(name, names)}`, {
    hint: `${there}.\nMake one: bosun agents build --name ${shellWord(name)} --description "…"`,
  });
}

/** What a new agent is made from, and its file. Failures: `usage` for a name that no agent can have, and for one that is there unless it is to be replaced. */
export async function newAgent(
  { directory }: CommandContext,
  { name: named, description = "", fromTemplate = "", outputDir, format, force }: NewAgentOptions,
): Promise<Fallible<NewAgent>> {
  const template = agentTemplates().get(fromTemplate);
  const name = named ?? fromTemplate;
  if ((description.trim() === "") === (template === undefined)) {
    const hint = "Say what the agent is with --description, or name one that is there with --from-template.";
    return fails("usage", "An agent is made from a description or from a template.", { hint });
  }
  const [wrong] = await agentFindings({ name, role: "-", system_prompt: "-" }, name);
  if (wrong)
    return fails("usage", `--name ${JSON.stringify(name)}: ${wrong.what}.`, { hint: "Such as --name architect." });
  const folder = resolve(directory, outputDir);
  const there = agentFilesIn(folder);
  if (!there.ok) return there;
  const path = join(folder, `${name}.${format}`);
  const [other = path] = (there.value.get(name) ?? []).filter((one) => one !== path);
  if (other !== path)
    return fails("usage", `The agent "${name}" is in ${other} already.`, {
      hint: "Remove that, or name its --format.",
    });
  if (force === true || there.value.get(name) === undefined) return ok({ path, name, description, template });
  return fails("usage", `${path} exists already.`, { hint: "Replace it with --force." });
}

interface NewAgent {
  readonly path: string;
  readonly name: string;
  readonly description: string;
  readonly template: Omit<AgentFile, "name"> | undefined;
}

/** What `bosun agents build` is told. */
export interface NewAgentOptions {
  readonly description?: string;
  readonly fromTemplate?: string;
  readonly name?: string;
  readonly outputDir: string;
  readonly format: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

/** The agents of these names, or all, each with its file or why it cannot be used. Failures: as `agentFolder`, `not_found`. */
export async function agentsNamed(
  context: CommandContext,
  options: AgentsOption,
  names: readonly string[],
): Promise<Fallible<readonly NamedAgent[]>> {
  const folder = agentFolder(context, options);
  if (!folder.ok) return folder;
  const { files } = folder.value;
  const missing = names.find((name) => !files.has(name));
  if (missing !== undefined) return err(noAgent(missing, folder.value));
  const chosen = names.length === 0 ? [...files.keys()] : names;
  return ok(
    await Promise.all(
      chosen.map(async (name) => {
        const paths = files.get(name) ?? [];
        const file = relative(context.directory, paths[0] ?? "");
        return { name, file, agent: await readAgentFile(paths) };
      }),
    ),
  );
}

interface NamedAgent {
  readonly name: string;
  readonly file: string;
  readonly agent: Fallible<AgentFile>;
}

/** The only agent of this name. Failures: as `agentsNamed`, and those of its file. */
export async function agentNamed(
  context: CommandContext,
  options: AgentsOption,
  name: string,
): Promise<Fallible<AgentFile>> {
  const found = await agentsNamed(context, options, [name]);
  return found.ok ? ((found.value[0]?.agent ?? found) as Fallible<AgentFile>) : found;
}
