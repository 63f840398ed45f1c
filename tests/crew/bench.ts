import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding, Item } from "../../src/crew/survey/finding.ts";
import { crewRun, directory, type Ran, type Scratch, scratchRepository } from "./programs.ts";

/** A scratch repository and a directory for the findings in it. */
export class Bench {
  readonly repository: Scratch = scratchRepository();
  readonly artifacts: string = directory();

  async survey(args: readonly string[], env: Record<string, string> = {}, cwd = this.repository.root): Promise<Ran> {
    return crewRun("survey", args, { cwd, env: { BOSUN_ARTIFACTS_DIR: this.artifacts, ...env } });
  }

  /** Runs a survey and `verify` on it, and gives the items. */
  async items(kind: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<readonly Item[]> {
    const ran = await this.survey([kind, ...args], env);
    const verified = await this.survey(["verify", kind]);
    if (ran.code !== 0 || verified.code !== 0) {
      throw new Error(`${kind}: ${ran.stderr}${verified.stdout}${verified.stderr}`);
    }
    return this.kept(kind).items;
  }

  kept(kind: string): Finding {
    return JSON.parse(readFileSync(join(this.artifacts, `${kind}.json`), "utf8")) as Finding;
  }

  /** Changes the items of a finding, and gives the claims that `verify` calls false. */
  async falseClaims(kind: string, change: (item: Item) => Item): Promise<string[]> {
    const finding = this.kept(kind);
    const file = join(this.artifacts, `${kind}.json`);
    writeFileSync(file, JSON.stringify({ ...finding, items: finding.items.map(change) }));
    const { code, stdout } = await this.survey(["verify", kind]);
    return code === 1 ? stdout.trim().split("\n") : [];
  }
}

export function places(found: readonly Item[]): string[] {
  return found.map(({ file, line }) => (line === undefined ? file : `${file}:${line}`));
}

export const lines = (count: number): string => "x\n".repeat(count);
