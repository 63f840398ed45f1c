import { didYouMean } from "../lib/nearest.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { Comparison, StopCondition } from "./stop-conditions.ts";
import { allOf, anyOf, contains, MEASURES, measure, not } from "./stop-conditions.ts";

/** What no rule takes is a token of one character. */
const TOKEN = /"(?:\\.|[^"\\])*"|[A-Za-z]\w*|\d+|>=|<=|&&|\|\||\S/g;

/** A JSON string that is not empty. */
const TEXT = /^"(?:\\(?:["\\/bfnrt]|u[\da-f]{4})|[^"\\\p{Cc}])+"$/iu;

/** A deeper one would overflow the stack. */
const MAX_DEPTH = 100;

const NAMES = [...Object.keys(MEASURES), "contains"];

/**
 * A stop condition from text: `turns>=6 or contains("DONE", "ann")`, `not (tokens<1000 and turns<4)`. `not` binds before `and`, `and` before
 * `or`; `!`, `&&` and `||` mean the same. The error says what is expected where.
 */
export function parseStopCondition(text: string): Result<StopCondition, string> {
  try {
    return ok(new Parser(text).whole());
  } catch (error) {
    if (error instanceof Unreadable) return err(error.message);
    throw error;
  }
}

class Unreadable extends Error {}

class Parser {
  readonly #tokens: readonly { readonly value: string; readonly at: number }[];
  #place = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = Array.from(text.matchAll(TOKEN), ({ 0: value, index: at }) => ({ value, at }));
  }

  whole(): StopCondition {
    const condition = this.#either();
    return this.#token === "" ? condition : this.#fail('"and", "or" or the end is expected');
  }

  #either(): StopCondition {
    return this.#joined(["or", "||"], () => this.#joined(["and", "&&"], () => this.#single(), allOf), anyOf);
  }

  #joined(words: readonly string[], next: () => StopCondition, join: typeof anyOf): StopCondition {
    const first = next();
    const others: StopCondition[] = [];
    while (this.#takes(...words)) others.push(next());
    return others.length === 0 ? first : join(first, ...others);
  }

  #single(): StopCondition {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) this.#fail("fewer parentheses are expected");
    const condition = this.#takes("not", "!") ? not(this.#single()) : this.#takes("(") ? this.#inside() : this.#named();
    this.#depth -= 1;
    return condition;
  }

  #inside(): StopCondition {
    const condition = this.#either();
    this.#expect(")");
    return condition;
  }

  #named(): StopCondition {
    const name = this.#token;
    if (!NAMES.includes(name)) this.#fail(`one of ${NAMES.join(", ")} is expected.${didYouMean(name, NAMES)}`);
    this.#place += 1;
    if (Object.hasOwn(MEASURES, name)) {
      const comparison = this.#next(/^(?:[<>]=?|=)$/, "one of >= > <= < = is expected") as Comparison;
      const limit = Number(this.#next(/^\d{1,15}$/, "a whole number is expected"));
      return measure(name as keyof typeof MEASURES, comparison, limit);
    }
    this.#expect("(");
    const condition = contains(this.#text(), this.#takes(",") ? this.#text() : undefined);
    this.#expect(")");
    return condition;
  }

  #text(): string {
    return JSON.parse(this.#next(TEXT, "a text in double quotes is expected")) as string;
  }

  #next(pattern: RegExp, expected: string): string {
    const token = pattern.test(this.#token) ? this.#token : this.#fail(expected);
    this.#place += 1;
    return token;
  }

  /** The token at hand; empty at the end. */
  get #token(): string {
    return this.#tokens[this.#place]?.value ?? "";
  }

  #takes(...values: readonly string[]): boolean {
    const isOne = values.includes(this.#token);
    if (isOne) this.#place += 1;
    return isOne;
  }

  #expect(value: string): void {
    if (!this.#takes(value)) this.#fail(`${JSON.stringify(value)} is expected`);
  }

  #fail(expected: string): never {
    const token = this.#tokens[this.#place];
    throw new Unreadable(
      token ? `At character ${token.at + 1}, ${token.value}: ${expected}` : `At the end: ${expected}`,
    );
  }
}
