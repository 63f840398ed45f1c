import { existsSync } from "node:fs";
import os from "node:os";
import type { Command } from "commander";
import { execa } from "execa";
import { isSecretProxy } from "../agents/cli/environment.ts";
import { programFile, programObstacle } from "../agents/program-file.ts";
import { withAuthProfile } from "../config/auth-profiles.ts";
import { unheldPermission } from "../config/role-defaults.ts";
import type { Settings } from "../config/settings.ts";
import { ok, type Result } from "../lib/result.ts";
import type { Failure } from "../protocol/failure.ts";
import type { AuthProfiles } from "../protocol/payload.ts";
import type { Role, Sandbox } from "../protocol/roles.ts";
import { EXIT_DONE, EXIT_ENVIRONMENT } from "../runtime/exit.ts";
import { fileSystemOf, unwritable } from "../store/file-system.ts";
import { safeJson, safeLine, safeText, wrapped } from "../ui/display.ts";
import type { Output, Style } from "../ui/terminal.ts";
import { counted, localize, tellNext } from "../ui/words.ts";
import type { CommandContext, Run } from "./context/command.ts";
import { homeOf } from "./context/home.ts";
import { programVersion } from "./context/program.ts";
import { programOf, roleProblem } from "./options/reach.ts";
import {
  addRegistryOptions,
  type Found,
  findConfiguration,
  loadRegistry,
  type RegistryOptions,
  settingsFrom,
  whenAsked,
} from "./options/registry.ts";
import { missingSandbox, sandboxesHere, sandboxOf, weakestSandbox } from "./options/sandboxes.ts";

interface DoctorOptions extends RegistryOptions {
  readonly json?: boolean;
}

/** What a sandbox does. */
const SANDBOX_EFFECT: Readonly<Record<Sandbox, string>> = {
  none: "no restrictions",
  processes: "no process outlives the agent",
  files: "also no writes outside its own directories",
  offline: "also no network",
};

/** What agents may do, by the weakest sandbox of their roles. */
const RIGHTS: Readonly<Record<Sandbox, string>> = {
  none: "Agents run with all your rights: files, network, processes. Nothing isolates them.",
  processes: "Agents run with your rights on files and the network. Only their processes are contained.",
  files:
    "Agents write only to the workspace and their own directories. They read and use the network with your rights.",
  offline:
    "Agents write only to the workspace and their own directories, and have no network. They read with your rights.",
};

/** One check. `missing`: needed, must be fixed first; `poor`: works, with less; `off`: not available and not needed. */
interface Finding {
  readonly name: string;
  readonly state: "ok" | "poor" | "missing" | "off";
  readonly what: string;
  readonly hint?: string | undefined;
}

/** `bosun doctor`: whether everything that a run with these flags needs is available. */
export function register(command: Command, run: Run): void {
  addRegistryOptions(command);
  command
    .option("--json", "one JSON value on stdout")
    .action((options: DoctorOptions) => run((context) => doctor(context, options)));
}

async function doctor(context: CommandContext, options: DoctorOptions): Promise<Result<number, Failure>> {
  const { out } = context.terminal;
  const found = findConfiguration(context, options, context.directory);
  const roles = found.ok ? await loadRegistry(options, found.value) : found;
  const rights = RIGHTS[await weakestSandbox(roles.ok ? roles.value : [], context.environment.PATH)];
  const looked: Finding[] = [
    program(),
    platform(),
    homeFinding(context),
    await git(context),
    ...(await crewFindings(context, options, found, roles)),
    ...(await sandboxFindings(context)),
    ...proxies(context),
    workspace(rights),
    TIMERS,
  ];
  const findings = looked.map(({ hint, ...finding }) => ({
    ...finding,
    ...(hint === undefined ? {} : { hint: localize(out, hint) }),
  }));
  const missing = findings.filter((finding) => finding.state === "missing");
  if (options.json === true) out.line(safeJson({ ok: missing.length === 0, findings }));
  else show(out, findings, missing.length, rights);
  return ok(missing.length === 0 ? EXIT_DONE : EXIT_ENVIRONMENT);
}

function program(): Finding {
  // Where Node is too old the program has already ended.
  return { name: "program", state: "ok", what: `Bosun ${programVersion()} on Node ${process.versions.node}` };
}

function platform(): Finding {
  const name = "platform";
  const what = `${os.type()} ${os.release()}, ${os.arch()}, ${os.availableParallelism()} processors`;
  if (process.platform === "linux") return { name, state: "ok", what };
  if (process.platform !== "darwin")
    return { name, state: "missing", what, hint: "Use Linux, macOS, or WSL on Windows." };
  const hint =
    "Without /proc, processes that an agent of a dead scheduler left behind are found only while the agent still runs.";
  return { name, state: "poor", what, hint };
}

function homeFinding(context: CommandContext): Finding {
  const home = homeOf(context);
  if (!home.ok) return because({ hint: "Name another with --home.", ...home.error }, "home", "missing");
  const { name: file_system, safety } = fileSystemOf(home.value);
  const what = `${home.value}${existsSync(home.value) ? "" : " (created by the first run)"}, on ${file_system}`;
  if (unwritable(home.value)) {
    const hint = "Name another with --home or BOSUN_HOME.";
    return { name: "home", state: "missing", what: `${what}: not writable`, hint };
  }
  if (safety === "safe") return { name: "home", state: "ok", what };
  return {
    name: "home",
    state: safety === "unsafe" ? "missing" : "poor",
    what,
    hint: "File locks are unreliable there: put the home on a local disk with --home or BOSUN_HOME.",
  };
}

async function git({ environment, directory }: CommandContext): Promise<Finding> {
  const file = programFile("git", directory, environment.PATH);
  if (file === undefined)
    return { name: "git", state: "off", what: "not on the PATH", hint: "Some plans and crews need it." };
  const { stdout, exitCode } = await execa(file, ["--version"], { reject: false, timeout: 5_000 });
  return exitCode === 0
    ? { name: "git", state: "ok", what: stdout.split("\n", 1)[0] ?? "" }
    : { name: "git", state: "poor", what: `${file} does not work` };
}

/** The roles, and the program for notifications. */
async function crewFindings(
  context: CommandContext,
  options: DoctorOptions,
  found: Result<Found, Failure>,
  roles: Result<readonly Role[], Failure>,
): Promise<Finding[]> {
  if (!roles.ok) return [because(roles.error, "roles", "missing")];
  if (!found.ok) return [];
  const settings = await settingsFrom(context, options, found.value, [], roles.value);
  const profiles = settings.ok ? settings.value.auth_profiles : {};
  const findings = await Promise.all(roles.value.map((role) => roleFinding(context, role, roles.value, profiles)));
  return [...findings, notifyFinding(context, settings)];
}

async function roleFinding(
  { directory, environment }: CommandContext,
  given: Role,
  roles: readonly Role[],
  profiles: AuthProfiles,
): Promise<Finding> {
  const name = `role ${given.role_id}`;
  const { PATH } = environment;
  const profiled = withAuthProfile(given, profiles);
  if (!profiled.ok) return because(profiled.error, name, "missing");
  const role = profiled.value;
  const wrong = roleProblem(role, directory, PATH) ?? (await missingSandbox(role, PATH));
  if (wrong) return because(wrong, name, "missing");
  const sandbox = await sandboxOf(role, PATH);
  const kept = sandbox === "none" ? "" : `, sandbox ${sandbox}`;
  const when = whenAsked(role, roles);
  const asked = when === undefined ? "" : `, ${when}`;
  const { pass_env = [] } = role;
  const sees = pass_env.length === 0 ? "" : `, sees ${pass_env.join(", ")}`;
  const what = `${role.type}, ${programOf(role, directory, PATH)}${kept}${sees}${asked}`;
  const unset = pass_env.filter((variable) => environment[variable] === undefined);
  if (unset.length > 0) {
    const hint = "Set what its program needs before you run it.";
    return { name, state: "poor", what: `${what}; not set here: ${unset.join(", ")}`, hint };
  }
  const unheld = unheldPermission(role, sandbox);
  if (unheld === undefined) return { name, state: "ok", what };
  const hint = "A sandbox limits a program to the workspace (files), or also cuts off the network (offline).";
  return { name, state: "poor", what: `${what}; ${unheld}`, hint };
}

function notifyFinding(context: CommandContext, settings: Result<Settings, Failure>): Finding {
  const name = "notify";
  if (!settings.ok) return { name: "settings", state: "missing", what: settings.error.message };
  const { notify, workspace: place } = settings.value.values;
  if (!notify) return { name, state: "off", what: "no command is set for notifications" };
  const [program = ""] = notify.command;
  const file = programFile(program, place, context.environment.PATH);
  if (file !== undefined) return { name, state: "ok", what: `${file}, for ${notify.on?.join(", ") ?? "all events"}` };
  const { why, remedy } = programObstacle(program, place);
  return {
    name,
    state: "missing",
    what: `notify.command runs ${JSON.stringify(program)}, which ${why}`,
    hint: `${remedy}, or correct the setting in ${settings.value.origins.get("notify.command") ?? "notify.command"}.`,
  };
}

async function sandboxFindings({ environment }: CommandContext): Promise<Finding[]> {
  const levels = await sandboxesHere(environment.PATH);
  return levels.map(({ level, program: by, why }) => {
    const name = `sandbox ${level}`;
    if (why === undefined) return { name, state: "ok", what: `${SANDBOX_EFFECT[level]}, by ${by}` };
    // Every agent gets `processes` by default; the others only on request.
    return because(why, name, level === "processes" ? "poor" : "off");
  });
}

/** Proxies that contain a user name are secrets, which agents do not inherit. */
function proxies({ environment }: CommandContext): Finding[] {
  const names = Object.keys(environment).filter((name) => isSecretProxy(name, environment[name] ?? ""));
  if (names.length === 0) return [];
  const what = `agents and checks do not get ${names.join(" and ")}: it contains a user name`;
  return [
    { name: "proxy", state: "poor", what, hint: "Set it in the env of the roles that need it; it is not logged." },
  ];
}

function workspace(rights: string): Finding {
  return {
    name: "workspace",
    state: "poor",
    what: `agents work in the workspace itself. ${rights}`,
    hint: "To protect your files, use a clone as --cwd. Run agents that you do not trust as another user or in a container.",
  };
}

const TIMERS: Finding = {
  name: "timers",
  state: "ok",
  what: "stored in the database; those that expire while nothing runs are handled on resume",
};

function because({ message, hint }: Failure, name: string, state: Finding["state"]): Finding {
  return { name, state, what: message, hint };
}

const MARK: Readonly<Record<Finding["state"], readonly [mark: string, style: Style]>> = {
  ok: ["ok", "green"],
  poor: ["--", "yellow"],
  missing: ["!!", "red"],
  off: ["  ", "dim"],
};

/** The columns before the text. */
const INDENT = " ".repeat(25);

/** The bundled crew needs a plan; other crews are named. */
const RUNS = ["bosun run --plan FILE", 'bosun run "…" --manager CMD --worker CMD'];

function show(out: Output, findings: readonly Finding[], missing: number, rights: string): void {
  for (const { name, state, what, hint } of findings) {
    const [mark, style] = MARK[state];
    // An error in a file has more lines: the place, and a mark under it.
    const [first = "", ...more] = safeText(what).trim().split("\n");
    out.line(`${out.style(style, mark)}  ${safeLine(name).padEnd(20)} ${first}`);
    for (const line of more) out.line(`${INDENT}${line}`);
    if (hint !== undefined && state !== "ok") out.line(`${INDENT}${out.style("dim", safeLine(hint))}`);
  }
  out.line();
  out.line(
    missing === 0
      ? "Everything that is needed is available."
      : out.style("red", `${counted(missing, "problem")} to fix first.`),
  );
  for (const line of wrapped(rights, out.width, 0)) out.line(line);
  const next = missing === 0 ? RUNS : ["bosun doctor --crew NAME"];
  tellNext(out, ...next);
}
