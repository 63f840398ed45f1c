import { readFileSync } from "node:fs";
import { join } from "node:path";

export const ROOT = join(import.meta.dirname, "../..");
export const SPEC = readFileSync(join(ROOT, "SPEC.md"), "utf8");

/** The fenced blocks; the words after the language say what they show. */
export const FENCES = [...SPEC.matchAll(/^```(\w+) ?([^\n]*)\n([\s\S]*?)^```$/gm)].map(
  ([, language = "", about = "", text = ""]) => ({ language, about, text }),
);

/** A program quoted in full. */
export function quoted(file: string): string {
  const fence = FENCES.find(({ about }) => about === `file=${file}`);
  if (!fence) throw new Error(`SPEC.md does not quote ${file}`);
  return fence.text;
}
