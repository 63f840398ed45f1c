import { chmodSync } from "node:fs";
import { dirname, join } from "node:path";
import { built } from "../built.ts";
import { ROOT, type Rig } from "./rig.ts";

/** A program on the PATH that tells a version and a login as an agent CLI does; anything else is a turn. */
export interface FakeProgram {
  readonly version: string;
  readonly logged_in?: boolean;
  /** What it does in a turn: a shell command. */
  readonly turn?: string;
}

/** Agents on the envelope dialect, as turns of fake programs. */
export const FAKE_MANAGER = `python3 ${join(ROOT, "examples", "agents", "manager.py")}`;
export const FAKE_WORKER = `sh ${join(ROOT, "examples", "agents", "worker.sh")}`;

/** A `PATH` with these programs and none of the agent CLIs of this machine. */
export function fakePrograms(here: Rig, programs: Readonly<Record<string, FakeProgram>>): { PATH: string } {
  let bin = dirname(here.write("bin/empty", ""));
  for (const [name, { version, logged_in = true, turn = "exit 1" }] of Object.entries(programs)) {
    const script = `#!/bin/sh
case "$*" in
  --version) echo "${name} ${version}" ;;
  "login status"|"auth status") exit ${logged_in ? 0 : 1} ;;
  *) ${turn} ;;
esac
`;
    const file = here.write(`bin/${name}`, script);
    chmodSync(file, 0o755);
    bin = dirname(file);
  }
  return { PATH: [bin, built("bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(":") };
}

/** Replaces the shipped crew of this name for the user by one whose programs speak the envelope dialect. */
export function envelopeCrew(here: Rig, name: string, manager: string, worker: string): void {
  const role = (type: string, program: string) => ({
    role_id: `${type}_${program}`,
    type,
    cli_command: [program],
    dialect: "envelope",
  });
  const roles = [role("manager", manager), role("worker", worker)];
  here.write(`config/bosun/crews/${name}.json`, JSON.stringify({ roles }));
}
