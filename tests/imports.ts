// Reads imports from the text of TypeScript sources.

/** Strips comments. A `//` inside a string is kept; in doubt (a quote in a regular expression) the line is kept. */
export function withoutComments(text: string): string {
  const parts = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  return text.replace(parts, (_, literal: string | undefined) => literal ?? "");
}

/** Every module that a source imports: static, type-only, re-exported and dynamic. */
export function importsOf(code: string): string[] {
  const named = /\b(?:import|export)\b[^;"'()]*?\bfrom\s*["']([^"']+)["']|\bimport\s*\(?\s*["']([^"']+)["']/g;
  return [...code.matchAll(named)].map((match) => match[1] ?? match[2] ?? "");
}

/** A path from a file back to itself along imports; undefined if there is none. */
export function cycleIn(needs: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const follow = (name: string, path: readonly string[]): string[] | undefined => {
    if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const needed of needs.get(name) ?? []) {
      const cycle = follow(needed, [...path, name]);
      if (cycle) return cycle;
    }
    done.add(name);
    return undefined;
  };
  for (const name of needs.keys()) {
    const cycle = follow(name, []);
    if (cycle) return cycle;
  }
  return undefined;
}
