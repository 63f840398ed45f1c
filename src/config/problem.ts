import { widthOf } from "../lib/text-layout.ts";
import { replaceEachUnsafe } from "../lib/terminal-text.ts";
import { type Failure, failure } from "../protocol/failure.ts";

/** One thing that is wrong in a file a person wrote, with all they need to find and mend it. */
export interface Problem {
  /** The path as the person gave it, or the name of what else held the value, such as `BOSUN_MAX_WORKERS`. */
  readonly file: string;
  /** Where in the file; absent when it is about the file as a whole. */
  readonly place?: Place;
  /** JSON pointer to the value within the file; empty for the whole. */
  readonly pointer: string;
  /** A sentence without its full stop. */
  readonly what: string;
  readonly expected?: string | undefined;
  /** The known key or name most likely meant. */
  readonly nearest?: string | undefined;
}

/** A spot in a text: line and column count from 1, columns in UTF-16 units; `source` is that whole line. */
export interface Place {
  readonly line: number;
  readonly column: number;
  readonly source: string;
}

/** How much of a long source line is shown, in characters. */
const SHOWN_WIDTH = 100;

/** How many problems of one file are shown; the rest are counted. */
const SHOWN_PROBLEMS = 10;

/** The lines a person sees for a problem: what and where, what was expected, then the source line with a caret under the spot. */
export function explain(problem: Problem): string[] {
  const where = problem.place ? `${problem.file}:${problem.place.line}:${problem.place.column}` : problem.file;
  const meant = problem.nearest === undefined ? "" : `; did you mean "${problem.nearest}"?`;
  const lines = [printable(`${where}: ${problem.what}${meant}`)];
  if (problem.place && problem.place.source.trim() !== "") lines.push(...excerpt(problem.place));
  if (problem.expected !== undefined) lines.push(printable(`  expected: ${problem.expected}`));
  return lines;
}

/** All problems of one reading as one failure: the explained lines as its message, the problems themselves as its details. */
export function problemsFailure(problems: readonly Problem[]): Failure {
  const shown = problems.slice(0, SHOWN_PROBLEMS).flatMap(explain);
  const rest = problems.length - SHOWN_PROBLEMS;
  if (rest > 0) shown.push(`and ${rest} more ${rest === 1 ? "problem" : "problems"}`);
  const details = {
    problems: problems.slice(0, SHOWN_PROBLEMS).map(({ file, place, pointer, what, expected, nearest }) => ({
      file,
      pointer,
      what,
      ...(place && { line: place.line, column: place.column }),
      ...(expected !== undefined && { expected }),
      ...(nearest !== undefined && { nearest }),
    })),
  };
  return failure("configuration", shown.join("\n"), { details });
}

/**
 * Tells the place of an offset (UTF-16 units) in a text whose lines end in LF, CR LF or CR. The lines are counted once, since a
 * long file can have thousands of problems; and nothing looks through a line, since the whole file may be one.
 */
export function places(text: string): (offset: number) => Place {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= [0, ...Array.from(text.matchAll(/\r\n|\r|\n/g), (end) => end.index + end[0].length)];
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    const start = starts[low] ?? 0;
    let end = starts[low + 1] ?? text.length;
    while (end > start && "\r\n".includes(text.charAt(end - 1))) end -= 1;
    return { line: low + 1, column: offset - start + 1, source: text.slice(start, end) };
  };
}

function excerpt({ line, column, source }: Place): string[] {
  const start = column <= SHOWN_WIDTH - 10 ? 0 : column - SHOWN_WIDTH / 2;
  const cut = source.slice(start, start + SHOWN_WIDTH);
  const margin = " ".repeat(String(line).length);
  const lead = start > 0 ? "… " : "";
  const tail = source.length > start + SHOWN_WIDTH ? " …" : "";
  const indent = " ".repeat(widthOf(lead + printable(cut.slice(0, column - 1 - start))));
  return [`  ${line} | ${lead}${printable(cut)}${tail}`, `  ${margin} | ${indent}^`];
}

/**
 * Text from a file that may come with somebody else's repository, made safe for a terminal: a tab becomes a blank; control
 * characters and those that reorder or hide text become U+FFFD, one for one, so that columns stay true.
 */
export function printable(text: string): string {
  return replaceEachUnsafe(text.replaceAll("\t", " "), () => "\ufffd");
}
