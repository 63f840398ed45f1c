import { lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Command } from "commander";
import { AGENT_PROGRAMS, agentProgramOf } from "../config/agent-programs.ts";
import { crewRegistry } from "../config/crews.ts";
import { readProject, readUser } from "../config/configuration.ts";
import { findProjectConfiguration } from "../config/found.ts";
import { repositoryRoot } from "../lib/git-directories.ts";
import { ok } from "../lib/result.ts";
import { shellWord } from "../lib/shell-word.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { Role } from "../protocol/roles.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { safeLine } from "../ui/display.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { confirmHere } from "./interaction/confirm.ts";
import { crewHere, crewWords } from "./options/crew-choice.ts";
import { crewFolders } from "./options/registry.ts";

interface InitOptions {
  readonly crew?: string;
  readonly mcp?: boolean;
  readonly yes?: boolean;
}

/** A file of the project: of the configuration folder, where it may have any of the formats, or beside it. */
interface NewFile {
  readonly path: string;
  readonly content: string;
  /** The file of this name that is there already. */
  readonly there: string | undefined;
}

/** `bosun init`: writes a project's configuration, but never over an existing file. */
export function register(command: Command): Action<InitOptions> {
  command
    .option("--crew <name>", "who plans and works (default: the first crew that is installed)")
    .option("--mcp", "also write .mcp.json, by which Claude Code and others begin and follow sessions here")
    .option("-y, --yes", "write without asking");
  return init;
}

async function init(context: CommandContext, _words: readonly string[], options: InitOptions): Promise<Exit> {
  const { directory, environment, terminal } = context;
  const { out } = terminal;
  const user = readUser(environment);
  if (!user.ok) return user;
  const found = { user: user.value, project: undefined };
  const installed = options.crew === undefined ? await crewHere(context, found) : ok(options.crew);
  if (!installed.ok) return installed;
  const crew = installed.value ?? "embedded";
  const registry = crewRegistry(crew, crewFolders(found));
  if (!registry.ok) return registry;
  const root = repositoryRoot(directory);
  const folder = join(root ?? directory, ".bosun");
  const present = findProjectConfiguration(root ?? directory);
  if (!present.ok) return present;
  // A link would lead the files elsewhere.
  const checked = present.value && readProject(present.value);
  if (checked?.ok === false) return checked;
  const entry = join(root ?? directory, ".mcp.json");
  const files: NewFile[] = [
    { path: join(folder, "roles.yaml"), content: rolesFile(crew, registry.value), there: present.value?.roles },
    { path: join(folder, "scheduler_config.yaml"), content: SETTINGS_FILE, there: present.value?.settings },
    ...(options.mcp === true ? [{ path: entry, content: MCP_FILE, there: existing(entry) }] : []),
  ];
  const missing = files.filter(({ there }) => there === undefined);
  for (const file of files.flatMap(({ there }) => there ?? []))
    out.line(`left     ${safeLine(relative(directory, file))} (it exists)`);
  out.line(`crew     ${safeLine(crewWords(crew, registry.value))}`);
  if (installed.value === undefined)
    out.line("         No agent program is on the PATH; `bosun doctor` says what to install.");
  if (root === undefined)
    out.line("git      This folder is in no git repository: what agents change cannot be undone.");
  if (missing.length > 0 && options.yes !== true && terminal.hasPerson) {
    const names = missing.map(({ path }) => relative(directory, path));
    const declined = await confirmHere(context, `Write ${names.join(" and ")}?`, "yes");
    if (declined !== undefined) return ok(declined);
  }
  const written = write(missing);
  if (!written.ok) return written;
  for (const file of written.value) out.line(`written  ${safeLine(relative(directory, file))}`);
  if (options.mcp === true && !written.value.includes(entry)) out.line(`         Add to .mcp.json: ${MCP_ENTRY}`);
  const example = registry.value.some((role) => agentProgramOf(role)) ? 'bosun run "…"' : "bosun run --plan FILE";
  tellNext(out, "bosun trust", "bosun doctor", example);
  return ok(EXIT_DONE);
}

function existing(file: string): string | undefined {
  return lstatSync(file, { throwIfNoEntry: false }) && file;
}

function write(files: readonly NewFile[]): Fallible<string[]> {
  const written: string[] = [];
  for (const { path: file, content } of files) {
    const folder = dirname(file);
    try {
      mkdirSync(folder, { recursive: true });
      // Fails if the file was created meanwhile, and for a link.
      writeFileSync(file, content, { flag: "wx" });
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      // Half of them would count as all. A file that exists is another's.
      for (const made of code === "EEXIST" ? written : [...written, file]) rmSync(made, { force: true });
      const hint = `Make ${shellWord(folder)} a folder that you may write to, and try again: existing files are left.`;
      return fails("environment", `${file} cannot be written (${code}).`, { hint });
    }
    written.push(file);
  }
  return ok(written);
}

function rolesFile(crew: string, roles: readonly Role[]): string {
  return `# Who plans and who works in this project: the crew "${crew}", yours to change.
# \`bosun roles\` shows what counts, and \`bosun doctor\` whether it works here.
# SPEC.md of Bosun lists every field. Anything that speaks the envelope dialect can stand in cli_command.
# Prompts: a file .bosun/prompts/NAME.md replaces the built-in one of that name (\`bosun roles --prompts\` lists them).
roles:
${roles.map(roleEntry).join("\n")}`;
}

function roleEntry(role: Role): string {
  const { metadata: _, ...fields } = role;
  const lines = Object.entries(fields).map(([key, value]) => `${key}: ${JSON.stringify(value).replaceAll(",", ", ")}`);
  const program = agentProgramOf(role);
  const passed = program === undefined ? [] : AGENT_PROGRAMS[program].pass_env;
  const hints = [
    "# timeout_s: 1800",
    ...(program === undefined
      ? ["# pass_env: []  # variables of your environment that it sees"]
      : [
          "# model: NAME  # the program's own choice if left out",
          `# pass_env: ${JSON.stringify(passed).replaceAll(",", ", ")}  # what it sees of your environment; these if left out`,
          role.type === "manager"
            ? '# permissions: {write: "none", ask: "deny"}  # it reads the project; this is the default'
            : '# permissions: {write: "workspace", commands: ["npm test"], ask: "user"}  # writes here, runs these without asking',
        ]),
  ];
  return `  - ${[...lines, ...hints].join("\n    ")}\n`;
}

const MCP_ENTRY = '"bosun": {"command": "bosun", "args": ["mcp"]}';

/** No path of this machine, because a project shares the file. */
const MCP_FILE = `{
  "mcpServers": {
    ${MCP_ENTRY}
  }
}
`;

const SETTINGS_FILE = `# Settings of the sessions in this project. What is left out has its default; flags and BOSUN_* variables come first.
# Take a # away to change a line. SPEC.md of Bosun lists every setting.
{}
# max_workers: 4
# plan_approval: ask        # ask or never
# review: manager           # manager, user or checks
# checks:                   # Bosun runs these itself, and no ticket is done against one that fails
#   ticket:
#     - {text: the tests pass, command: [npm, test]}
# budget: {turns: 200, wall_s: 14400, usd: 20}
`;
