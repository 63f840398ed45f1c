import { appendFileSync, lstatSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type { Command } from "commander";
import { agentProgramOf } from "../config/agent-programs.ts";
import { crewRegistry } from "../config/crews.ts";
import { readProject, readUser } from "../config/configuration.ts";
import { findProjectConfiguration } from "../config/found.ts";
import { MCP_ENTRY, MCP_FILE, rolesFile, settingsFile } from "../config/new-project.ts";
import { projectCommands } from "../config/project-commands.ts";
import { trustWritten } from "../config/trust.ts";
import { gitIn } from "../lib/git.ts";
import { gitDirectories, repositoryRoot } from "../lib/git-directories.ts";
import { ok } from "../lib/result.ts";
import { shellWord } from "../lib/shell-word.ts";
import { isPlainCommand } from "../protocol/allowed-commands.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import { EXIT_DONE, EXIT_FAILED } from "../runtime/exit.ts";
import { promptChoice } from "../ui/choices.ts";
import { hanging, safeLine } from "../ui/display.ts";
import { promptLine } from "../ui/prompt.ts";
import type { Output } from "../ui/terminal.ts";
import { tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { askHere, type Declined } from "./interaction/confirm.ts";
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

/** What the person wants: the commands that workers may run, and what git does with the files. */
interface Wish {
  readonly commands: readonly string[];
  readonly then: "commit" | "ignore" | "leave";
}

/** `bosun init`: writes a project's configuration, but never over an existing file, and trusts it if a person agrees. */
export function register(command: Command): Action<InitOptions> {
  command
    .option("--crew <name>", "who plans and works (default: the first crew that is installed)")
    .option("--mcp", "also write .mcp.json, by which Claude Code and others begin and follow sessions here")
    .option("-y, --yes", "write and trust it without asking");
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
  const base = root ?? directory;
  const folder = join(base, ".bosun");
  const present = findProjectConfiguration(base);
  if (!present.ok) return present;
  // A link would lead the files elsewhere.
  const checked = present.value && readProject(present.value);
  if (checked?.ok === false) return checked;
  const entry = join(base, ".mcp.json");
  const filesWith = (commands: readonly string[]): NewFile[] => [
    { path: join(folder, "roles.yaml"), content: rolesFile(crew, registry.value), there: present.value?.roles },
    { path: join(folder, "scheduler_config.yaml"), content: settingsFile(commands), there: present.value?.settings },
    ...(options.mcp === true
      ? [{ path: entry, content: MCP_FILE, there: lstatSync(entry, { throwIfNoEntry: false }) && entry }]
      : []),
  ];
  const missingWith = (commands: readonly string[]) => filesWith(commands).filter(({ there }) => there === undefined);
  const names = missingWith([]).map(({ path }) => relative(directory, path));
  const proposed = present.value?.settings === undefined ? projectCommands(base) : [];
  for (const file of filesWith([]).flatMap(({ there }) => there ?? []))
    out.line(`left     ${safeLine(relative(directory, file))} (it exists)`);
  tell(out, "crew     ", crewWords(crew, registry.value));
  if (installed.value === undefined)
    tell(out, "         ", "No agent program is on the PATH; `bosun doctor` says what to install.");
  if (root === undefined)
    tell(out, "git      ", "This folder is in no git repository: what agents change cannot be undone.");
  const asks = names.length > 0 && options.yes !== true && terminal.hasPerson;
  if (!asks) showCommands(context, proposed);
  const wish = asks ? await wishOf(context, names, proposed, root) : ({ commands: proposed, then: "leave" } as const);
  if (typeof wish === "number") return ok(wish);
  const written = write(missingWith(wish.commands));
  if (!written.ok) return written;
  for (const file of written.value) out.line(`written  ${safeLine(relative(directory, file))}`);
  if (options.mcp === true && !written.value.includes(entry)) out.line(`         Add to .mcp.json: ${MCP_ENTRY}`);
  const own = new Map(
    filesWith(wish.commands).flatMap(({ path, content }) => (path === entry ? [] : [[path, content]])),
  );
  const isTrusted = asks || options.yes === true ? trustWritten(environment, base, own) : ok(false);
  if (!isTrusted.ok) return isTrusted;
  if (isTrusted.value) out.line("trusted  until one of its files changes");
  if (root !== undefined) await tellGit(context, root, written.value, wish.then);
  const example = registry.value.some((role) => agentProgramOf(role)) ? 'bosun run "…"' : "bosun run --plan FILE";
  tellNext(out, ...(isTrusted.value ? [] : ["bosun trust"]), "bosun doctor", example);
  return ok(EXIT_DONE);
}

/** What may follow the files; outside of a repository only the last three. */
const CHOICES = [
  { key: "commit", label: "Yes, and commit them" },
  { key: "ignore", label: "Yes, and have git ignore .bosun here" },
  { key: "leave", label: "Yes, and leave git as it is" },
  { key: "commands", label: "Choose first which commands workers may run without asking" },
  { key: "no", label: "No" },
] as const;

/** Asks what to write, and what git does with it; the exit code if the person declines. */
async function wishOf(
  context: CommandContext,
  names: readonly string[],
  proposed: readonly string[],
  root: string | undefined,
): Promise<Wish | Declined> {
  const { terminal } = context;
  const heading = `Write ${names.join(" and ")}, and trust them?`;
  const label = "Commands, with commas between them (Enter: none)\n> ";
  let commands = proposed;
  for (;;) {
    showCommands(context, commands);
    const choices = root === undefined ? CHOICES.slice(2) : CHOICES;
    const then = await askHere(context, (signal) => promptChoice(terminal, heading, choices, signal));
    if (typeof then === "number") return then;
    if (then === undefined || then === "no") return EXIT_FAILED;
    if (then !== "commands") return { commands, then };
    const typed = await askHere(context, (signal) => promptLine(terminal, label, signal));
    if (typeof typed === "number") return typed;
    if (typed.kind === "left") continue;
    const words = typed.text.split(",").flatMap((word) => word.trim() || []);
    const wrong = words.find((word) => !isPlainCommand(word));
    if (wrong === undefined) commands = words;
    else terminal.err.line(`  ${safeLine(JSON.stringify(wrong))} is no single command.`);
  }
}

function showCommands({ terminal: { out } }: CommandContext, commands: readonly string[]): void {
  if (commands.length > 0) tell(out, "commands ", `${commands.join(", ")}: workers may run these without asking`);
}

/** A line of what is found or done, of which longer words go on below. */
function tell(out: Output, about: string, words: string): void {
  const [first = "", ...more] = hanging(words, out.width, about.length);
  for (const line of [`${about}${first}`, ...more]) out.line(line);
}

/** Commits the files, or has git ignore the folder in this clone. */
async function tellGit(
  { environment, terminal: { out } }: CommandContext,
  root: string,
  files: readonly string[],
  how: Wish["then"],
): Promise<void> {
  if (how === "leave" || files.length === 0) return;
  const git = gitIn(environment);
  const paths = files.map((file) => relative(root, file));
  try {
    if (how === "commit") {
      await git(root, ["add", "--", ...paths]);
      await git(root, ["commit", "--quiet", "--message", "Add the configuration of Bosun", "--", ...paths]);
      out.line("git      committed");
    } else {
      const info = join(gitDirectories(root).common, "info");
      mkdirSync(info, { recursive: true });
      appendFileSync(join(info, "exclude"), "\n/.bosun/\n");
      out.line("git      ignores .bosun in this clone (.git/info/exclude)");
    }
  } catch (error) {
    // The files are written all the same.
    tell(out, "git      ", (error as Error).message);
  }
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
