import type { JsonObject } from "../lib/json.ts";

/** How people are shown the sessions of a mode, wherever they are: in the final report, at the end of a command, by `status`. */
export interface Presentation {
  /** What one of its subjects is called. */
  readonly subject: string;
  /** What its subjects say is called, if they say something and do no work. Until one has said anything its id is its title. */
  readonly says?: string;
  /** Why one of them closed otherwise than well, by the reason that is recorded; what closes any session is told without. */
  readonly because?: Readonly<Record<string, string>>;
  /** Those subjects of its final report that failed and that a person may look into and try again, if any can be. */
  lost?(report: JsonObject): readonly string[];
  /** The parts of its final report's `result`. */
  parts(result: JsonObject): readonly ResultPart[];
}

/** A part of a result for people: what it is, what was said, and what that rests on. The texts are agents' own. */
export interface ResultPart {
  readonly title: string;
  readonly text: string;
  readonly points: readonly string[];
}
