import { err, ok, type Result } from "../../lib/result.ts";
import type { Problem, SourcePosition } from "./problem.ts";

/**
 * Returns a function that finds the position of an offset (UTF-16 units) in a text whose lines end in LF, CR LF or CR. The line starts are found once
 * and searched by bisection: a file can have thousands of problems, and one line can be the whole file.
 */
export function positionsIn(text: string): (offset: number) => SourcePosition {
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

/** Decodes UTF-8 bytes. Drops a byte order mark, and keeps line ends as they are. Binary data and other encodings are problems of `file`. */
export function decodeText(file: string, bytes: Uint8Array): Result<string, Problem> {
  const start = `${bytes[0]},${bytes[1]}`;
  if (start === "255,254" || start === "254,255") {
    const expected = "UTF-8 text (save it again with that encoding)";
    return err({ file, pointer: "", what: "the file is UTF-16", expected });
  }
  const zero = bytes.indexOf(0);
  if (zero !== -1) {
    return err({ file, pointer: "", what: `the file is binary: byte ${zero + 1} is zero`, expected: "UTF-8 text" });
  }
  try {
    return ok(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    const readable = new TextDecoder("utf-8").decode(bytes);
    const position = positionsIn(readable)(readable.indexOf("\ufffd"));
    return err({ file, position, pointer: "", what: "this byte is not UTF-8", expected: "UTF-8 text" });
  }
}
