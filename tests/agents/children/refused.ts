/** Starts a program in a directory without root rights, and prints the failure, or `null` if it started. */
import { start } from "../../../src/agents/launch.ts";

const NOBODY = 65_534;
const [, , directory = "", ...command] = process.argv;
if (process.getuid?.() === 0) process.setuid?.(NOBODY);
const started = await start({ command, directory, environment: { PATH: process.env["PATH"] ?? "" } });
console.log(JSON.stringify(started.ok ? null : started.error));
