import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerTo } from "../../config/picked-option.ts";
import { makeDirectory, OWN } from "../../lib/files.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { ok, type Result } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import type { Failure } from "../../protocol/failure.ts";
import { sessionPaths } from "../../runtime/paths.ts";
import type { OpenQuestion } from "../../ui/waiting.ts";

/** The answers that a person has typed at a terminal but not sent yet, by question id. They outlive the command that asked. */
export class Drafts {
  readonly #folder: string;
  readonly #file: string;

  constructor(home: string, session_id: string) {
    this.#folder = sessionPaths(home, session_id).folder;
    this.#file = join(this.#folder, "answers-to-send.json");
  }

  /** The kept answers to these questions, except those that would be refused. */
  of(questions: readonly OpenQuestion[]): Map<string, string> {
    const all = this.#read();
    return new Map(
      questions.flatMap((question) => {
        const { question_id } = question;
        const text = Object.hasOwn(all, question_id) ? all[question_id] : undefined;
        const answer = typeof text === "string" ? answerTo(question, text) : undefined;
        return answer?.ok === true ? [[question_id, answer.value] as const] : [];
      }),
    );
  }

  /** Fails with `storage` or `storage_full`. */
  keep(question_id: string, text: string): Result<void, Failure> {
    return this.#write({ ...this.#read(), [question_id]: text });
  }

  /** Call once these were sent. */
  forget(question_ids: Iterable<string>): void {
    const sent = new Set(question_ids);
    const all = this.#read();
    const left = Object.entries(all).filter(([question_id]) => !sent.has(question_id));
    if (left.length === Object.keys(all).length) return;
    // At worst, an answer that cannot be removed is offered again.
    if (left.length > 0) this.#write(Object.fromEntries(left));
    else attempt(this.#folder, () => ok(rmSync(this.#file, { force: true })));
  }

  /** Anyone may have written the file, so invalid content counts as no drafts. */
  #read(): JsonObject {
    try {
      const read: unknown = JSON.parse(readFileSync(this.#file, "utf8"));
      return isJsonObject(read) ? read : {};
    } catch {
      return {};
    }
  }

  #write(all: JsonObject): Result<void, Failure> {
    const write = () => {
      makeDirectory(this.#folder);
      writeFileSync(this.#file, JSON.stringify(all), OWN);
      return ok(undefined);
    };
    return attempt(this.#folder, write, "The answer");
  }
}
