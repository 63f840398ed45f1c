import { existsSync } from "node:fs";
import os from "node:os";
import { isSecretProxy } from "../../agents/cli/environment.ts";
import { programObstacle } from "../../agents/cannot-start.ts";
import { absoluteFolders, programFile } from "../../lib/program-file.ts";
import type { Settings } from "../../config/settings.ts";
import { fileSystemOf, unwritable } from "../../store/file-system.ts";
import type { CommandContext } from "../context/command.ts";
import { homeOf } from "../context/home.ts";
import { programVersion } from "../context/program.ts";
import { because, type Finding } from "./finding.ts";
import { sandboxFindings } from "./sandbox.ts";

/** This program, the system, where the home is, and what isolates agents here. */
export async function machineFindings(context: CommandContext): Promise<Finding[]> {
  const sandboxes = await sandboxFindings(context.environment.PATH);
  // Where Node is too old the program has already ended.
  const what = `Bosun ${programVersion()} on Node ${process.versions.node}`;
  const program: Finding = { name: "program", state: "ok", what };
  return [program, platform(), homeFinding(context), ...sandboxes, ...proxies(context)];
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
  if (!home.ok) return because("home", { hint: "Name another with --home.", ...home.error });
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

/** Proxies that contain a user name are secrets, which agents do not inherit. */
function proxies({ environment }: CommandContext): Finding[] {
  const names = Object.keys(environment).filter((name) => isSecretProxy(name, environment[name] ?? ""));
  if (names.length === 0) return [];
  const what = `agents and checks do not get ${names.join(" and ")}: it contains a user name`;
  return [
    { name: "proxy", state: "poor", what, hint: "Set it in the env of the roles that need it; it is not logged." },
  ];
}

/** The program for notifications. A session goes on without it. */
export function notifyFinding({ values, origins }: Settings, path: string | undefined): Finding {
  const name = "notify";
  const { notify, workspace } = values;
  if (!notify) return { name, state: "off", what: "no command is set for notifications" };
  const [program = ""] = notify.command;
  const file = programFile(program, workspace, absoluteFolders(path));
  if (file !== undefined) return { name, state: "ok", what: `${file}, for ${notify.on?.join(", ") ?? "all events"}` };
  const { why, remedy } = programObstacle(program, workspace);
  return {
    name,
    state: "missing",
    what: `notify.command runs ${JSON.stringify(program)}, which ${why}`,
    hint: `${remedy}, or correct the setting in ${origins.get("notify.command")?.where ?? "notify.command"}.`,
  };
}
