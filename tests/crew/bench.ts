import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/lib/json.ts";
import type { Ran, Scratch } from "./programs.ts";
import { crewRun, directory, scratchRepository } from "./programs.ts";

export interface Item {
  severity: string;
  file: string;
  line?: number;
  text: string;
  claim: JsonObject;
}

interface Kept {
  items: Item[];
  looked_at: string;
  notes: string[];
  details: JsonObject;
}

/** A scratch repository, and a place for what is found in it. */
export class Bench {
  readonly repository: Scratch = scratchRepository();
  readonly artifacts: string = directory();

  async survey(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
    return await crewRun("survey", args, {
      cwd: this.repository.root,
      env: { BOSUN_ARTIFACTS_DIR: this.artifacts, ...env },
    });
  }

  /** Runs a survey, holds its claims against `verify`, and gives the items. */
  async items(kind: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<Item[]> {
    const ran = await this.survey([kind, ...args], env);
    const verified = await this.survey(["verify", kind]);
    if (ran.code !== 0 || verified.code !== 0)
      throw new Error(`${kind}: ${ran.stderr}${verified.stdout}${verified.stderr}`);
    return this.kept(kind).items;
  }

  kept(kind: string): Kept {
    return JSON.parse(readFileSync(join(this.artifacts, `${kind}.json`), "utf8")) as Kept;
  }

  /** Puts a falsehood into a finding and gives what `verify` says of it. */
  async verdictOn(kind: string, change: (item: Item) => Item): Promise<Ran> {
    const finding = this.kept(kind);
    writeFileSync(
      join(this.artifacts, `${kind}.json`),
      JSON.stringify({ ...finding, items: finding.items.map(change) }),
    );
    return await this.survey(["verify", kind]);
  }
}

export function places(found: readonly Item[]): string[] {
  return found.map(({ file, line }) => (line === undefined ? file : `${file}:${line}`));
}

export const lines = (count: number): string => "x\n".repeat(count);
