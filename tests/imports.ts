// What TypeScript sources import, read from their texts.

/** A source without its comments. Strings are matched so that a `//` in one is no comment; in doubt (a quote in a regular expression) a line is kept. */
export function withoutComments(text: string): string {
  const parts = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
  return text.replace(parts, (_, literal: string | undefined) => literal ?? "");
}

/** Every module a source names: static, type-only, re-exported and dynamic alike. */
export function importsOf(code: string): string[] {
  const named = /\b(?:import|export)\b[^;"'()]*?\bfrom\s*["']([^"']+)["']|\bimport\s*\(?\s*["']([^"']+)["']/g;
  return [...code.matchAll(named)].map((match) => match[1] ?? match[2] ?? "");
}

/** A way from a file back to itself along what each needs; undefined if there is none. */
export function circleIn(needs: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const follow = (name: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(name)) return [...way.slice(way.indexOf(name)), name];
    if (done.has(name)) return undefined;
    for (const needed of needs.get(name) ?? []) {
      const circle = follow(needed, [...way, name]);
      if (circle) return circle;
    }
    done.add(name);
    return undefined;
  };
  for (const name of needs.keys()) {
    const circle = follow(name, []);
    if (circle) return circle;
  }
  return undefined;
}
