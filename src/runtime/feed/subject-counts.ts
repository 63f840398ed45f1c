import type { SessionView } from "../../kernel/mode.ts";
import type { UnsealedRecord } from "../../protocol/record.ts";

/** Counts a session's subjects by state, from the effects of its records. */
export class SubjectCounts {
  readonly #statuses = new Map<string, string>();
  readonly #counts: Record<string, number> = {};

  constructor(subjects: SessionView["subjects"] = []) {
    for (const { id, status } of subjects) this.#set(id, status);
  }

  /** The states in use, with their counts. */
  get counts(): Readonly<Record<string, number>> {
    return { ...this.#counts };
  }

  #set(id: string, status: string): void {
    const before = this.#statuses.get(id);
    if (before === status) return;
    this.#statuses.set(id, status);
    this.#counts[status] = (this.#counts[status] ?? 0) + 1;
    if (before === undefined) return;
    const left = (this.#counts[before] ?? 0) - 1;
    if (left > 0) this.#counts[before] = left;
    else delete this.#counts[before];
  }

  add({ record }: UnsealedRecord): void {
    for (const { ticket_id, to } of record.effects ?? []) this.#set(ticket_id, to);
  }
}
