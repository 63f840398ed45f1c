import { existsSync } from "node:fs";
import os from "node:os";
import { execa } from "execa";
import { isSecretProxy } from "../../agents/cli/environment.ts";
import { programFile } from "../../agents/program-file.ts";
import type { Sandbox } from "../../protocol/roles.ts";
import { fileSystemOf, unwritable } from "../../store/file-system.ts";
import type { CommandContext } from "../context/command.ts";
import { homeOf } from "../context/home.ts";
import { programVersion } from "../context/program.ts";
import { sandboxesHere } from "../options/sandboxes.ts";
import { because, type Finding } from "./finding.ts";

/** What a sandbox does. */
const SANDBOX_EFFECT: Readonly<Record<Sandbox, string>> = {
  none: "no restrictions",
  processes: "no process outlives the agent",
  files: "also no writes outside its own directories",
  offline: "also no network",
};

/** This program, the system, and where the home is. */
export async function machineFindings(context: CommandContext): Promise<Finding[]> {
  return [program(), platform(), homeFinding(context), await git(context)];
}

/** What isolates agents here, and what they do not get of the environment. */
export async function isolationFindings(context: CommandContext): Promise<Finding[]> {
  return [...(await sandboxFindings(context)), ...proxies(context)];
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
