/** Tokens of one request or of several. What a provider does not tell is absent, never 0. */
export interface Usage {
  /** All input, with what came from a cache or went into it. */
  readonly inputTokens?: number;
  readonly cacheReadTokens?: number;
  readonly cacheWriteTokens?: number;
  /** All output, with reasoning. */
  readonly outputTokens?: number;
  readonly reasoningTokens?: number;
}

const FIGURES = ["inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens", "reasoningTokens"] as const;

/** The sum of usages. A figure that one of them lacks is absent. */
export function sumOfUsage(usages: readonly (Usage | undefined)[]): Usage {
  const sums = FIGURES.flatMap((figure) => {
    const told = usages.flatMap((usage) => usage?.[figure] ?? []);
    return told.length === usages.length && told.length > 0 ? [[figure, told.reduce((sum, one) => sum + one, 0)]] : [];
  });
  return Object.fromEntries(sums) as Usage;
}

/** Tokens of input and output that are known. */
export function tokensOf(usage: Usage | undefined): number {
  return (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
}

/** A limit that turns and conversations share by sharing the object. The answer that crosses it still counts; no request follows it. */
export class TokenBudget {
  readonly limit: number;
  #used = 0;
  #untold = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Tokens that are known to be used. */
  get used(): number {
    return this.#used;
  }

  /** Answers whose usage is not known in full: with one, `used` is a lower bound. */
  get untold(): number {
    return this.#untold;
  }

  get isSpent(): boolean {
    return this.#used >= this.limit;
  }

  spend(usage: Usage | undefined): void {
    this.#used += tokensOf(usage);
    if (usage?.inputTokens === undefined || usage.outputTokens === undefined) this.#untold += 1;
  }
}

export class TokenBudgetError extends Error {
  override readonly name = "TokenBudgetError";

  constructor({ used, limit }: TokenBudget) {
    super(`The budget of ${limit} tokens is spent: ${used} are used.`);
  }
}
