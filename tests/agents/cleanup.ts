import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs clean-up tasks in reverse order, for `afterEach`. */
export class Cleanup {
  readonly #tasks: (() => Promise<void> | void)[] = [];

  add(task: () => Promise<void> | void): void {
    this.#tasks.push(task);
  }

  async run(): Promise<void> {
    for (const task of this.#tasks.splice(0).toReversed()) await task();
  }
}

export async function scratchDirectory(cleanup: Cleanup): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "bosun-agents-"));
  cleanup.add(() => rm(directory, { recursive: true, force: true }));
  return directory;
}
