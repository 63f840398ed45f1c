/** The facts about the workspace, whatever reports and records say: which attempts were worked on, and what checks found. */
export class Findings {
  readonly #attempts = new Map<string, number>();
  readonly #results = new Map<string, boolean>();

  /** A worker has taken this attempt at a subject. */
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
