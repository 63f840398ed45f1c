/** Runs as the first process of a process namespace, which reaps only its own children, as a container's may. Starts programs in sandboxes of the level that is named, lets each end in its own way, and prints the exits and the zombies that are left. */
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { sandboxMechanism } from "../../../src/agents/isolation/probe.ts";
import { start } from "../../../src/agents/launch.ts";

const PATH = process.env["PATH"] ?? "/usr/bin:/bin";
const level = process.argv[2] === "files" ? "files" : "processes";
const mechanism = await sandboxMechanism(level, PATH);
if (!mechanism.ok) throw new Error(mechanism.error.message);

async function exitOf(script: string, signal?: NodeJS.Signals) {
  const spec = { command: ["sh", "-c", `echo ready; ${script}`], directory: "/", environment: { PATH } };
  const launched = await start(spec, mechanism.ok ? mechanism.value : undefined);
  if (!launched.ok) throw new Error(launched.error.message);
  const { stdout, exited } = launched.value;
  await once(stdout, "data");
  if (signal) launched.value.signalGroup(signal);
  const exit = await exited;
  launched.value.destroyPipes();
  return exit;
}

const exits = [
  await exitOf("exit 3"),
  await exitOf("sleep 600 & setsid sleep 600 & exit 4"),
  await exitOf("exec sleep 600", "SIGTERM"),
  await exitOf("sleep 600", "SIGKILL"),
];
const zombies = readdirSync("/proc")
  .filter((name) => /^\d+$/.test(name))
  .map((pid) => readFileSync(`/proc/${pid}/stat`, "latin1"))
  .filter((stat) => / \([^]*\) Z /.test(stat));
process.stdout.write(JSON.stringify({ first: process.pid, exits, zombies }));
