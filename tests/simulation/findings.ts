/** What is really so in the workspace, whoever says what about it. */
export class Findings {
  readonly #attempts = new Map<string, number>();
  readonly #results = new Map<string, boolean>();

  /** A worker was given this attempt at a subject. */
  worked(subject: string, attempt: number): void {
    this.#attempts.set(subject, attempt);
  }

  lastAttempt(subject: string | undefined): number {
    return this.#attempts.get(subject ?? "") ?? 0;
  }

  found(subject: string | undefined, command: readonly string[], passed: boolean): void {
    this.#results.set(`${subject} ${command.join(" ")}`, passed);
  }

  /** What the command found when it last ran to its end. */
  lastResult(subject: string, command: readonly string[]): boolean | undefined {
    return this.#results.get(`${subject} ${command.join(" ")}`);
  }
}
