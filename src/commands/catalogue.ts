import type { Register } from "./command.ts";

/** A command as help lists it, and where its own module is: loaded only when the command is the one that was typed. */
export interface CommandEntry {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  /** Left out of the short help; `bosun help all` shows it. */
  readonly hidden?: boolean;
  readonly load: () => Promise<{ readonly register: Register }>;
}

/** Every command, in the order in which help lists them. */
export const CATALOGUE: readonly CommandEntry[] = [
  { group: "Work", name: "run", summary: "carry out a requirement", load: () => import("./run.ts") },
  { group: "Work", name: "resume", summary: "go on with a session", load: () => import("./resume.ts") },
];
