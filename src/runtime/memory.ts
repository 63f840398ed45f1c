import { setFlagsFromString } from "node:v8";

/**
 * Lets the JavaScript heap of this process grow by half before all of it is collected, and not fourfold: of what a long session goes
 * through little stays alive, and starting a program takes time in proportion to the memory of who starts it. Measured at 50,000
 * tickets: two fifths less memory, and 45 µs more of processor time for each, where starting its program takes milliseconds.
 */
export function collectEarly(): void {
  setFlagsFromString("--heap-growing-percent=50");
}
