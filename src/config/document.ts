import type { Result } from "../lib/result.ts";
import { parseDocument, type SourceDocument } from "../protocol/document/document.ts";
import type { Scalars } from "../protocol/document/located-value.ts";
import { explain, type Finding, type Problem } from "../protocol/document/problem.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { readText } from "./read-text.ts";

/** Most bytes of a configuration, role or answers file. A repository may bring them along, and 1 MiB of YAML already takes seconds. */
const MAX_CONFIGURATION_BYTES = 1024 * 1024;

/** How many problems of one file are shown; the rest are counted. */
const SHOWN_PROBLEMS = 10;

/** Loads a configuration file, YAML or JSON. */
export function loadDocument(file: string, scalars: Scalars = "typed"): Result<SourceDocument, Problem> {
  const text = readText(file, MAX_CONFIGURATION_BYTES);
  return text.ok ? parseDocument(file, text.value, scalars) : text;
}

/** The findings in a document as one failure, in the order in which they stand there. */
export function findingsFailure(document: SourceDocument, findings: readonly Finding[]): Failure {
  return problemsFailure(problemsIn(document, findings));
}

/** The findings in a document, in the order in which they stand there. */
export function problemsIn({ problem }: SourceDocument, findings: readonly Finding[]): Problem[] {
  return findings
    .map(problem)
    .sort(
      ({ position: one }, { position: other }) =>
        (one?.line ?? 0) - (other?.line ?? 0) || (one?.column ?? 0) - (other?.column ?? 0),
    );
}

/**
 * Problems as one failure: its message shows each with its place, its details hold them as data. Its code is `configuration`, or
 * `not_found` if no file is there.
 */
export function problemsFailure(problems: readonly Problem[]): Failure {
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  const rest = problems.length - shown.length;
  const lines = shown.flatMap(explain);
  if (rest > 0) lines.push(`and ${rest} more ${rest === 1 ? "problem" : "problems"}`);
  const details = {
    problems: shown.map(({ file, position, pointer, what, expected, nearest }) => ({
      file,
      pointer,
      what,
      ...(position && { line: position.line, column: position.column }),
      ...(expected !== undefined && { expected }),
      ...(nearest !== undefined && { nearest }),
    })),
  };
  return problems.every(({ missing }) => missing)
    ? failure("not_found", lines.join("\n"), { details, hint: "Correct the name, and try again." })
    : failure("configuration", lines.join("\n"), { details });
}
