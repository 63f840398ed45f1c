import { failure } from "../../protocol/failure.ts";
import type { Heard, Port, Reader } from "./dialects/dialect.ts";
import type { RunEnd } from "./process.ts";

/**
 * Wraps a reader so that no output can make it throw: an exception would end the scheduler, and every resume would meet it again. The turn fails with
 * `malformed_output` unless it has an answer.
 */
export function guarded(reader: Reader): Reader {
  let broken: string | undefined;
  const attempt = <T>(read: () => T, otherwise: T): T => {
    try {
      return read();
    } catch (error) {
      broken ??= error instanceof Error ? error.message : String(error);
      return otherwise;
    }
  };
  return {
    connect: (port: Port) => attempt(() => reader.connect?.(port), undefined),
    read: (line, cut) => attempt(() => reader.read(line, cut), "message"),
    end: (end: RunEnd, stderr_tail: string): Heard => {
      const heard = attempt<Heard>(() => reader.end(end, stderr_tail), { refused: [] });
      if (broken === undefined || heard.answer !== undefined) return heard;
      return {
        ...heard,
        failure: failure("malformed_output", `Its output cannot be read: ${broken}`, {
          hint: "Its lines are kept beside the log. If this is a newer version of the program, report it.",
        }),
      };
    },
  };
}
