import type { Result } from "../lib/result.ts";
import { parseDocument, type SourceDocument } from "../protocol/document/document.ts";
import type { Scalars } from "../protocol/document/located-value.ts";
import { explain, type Finding, type Problem } from "../protocol/document/problem.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { readText, shownName, type TextSource } from "./read-text.ts";

/** Maximum size of a configuration, role or answers file, in bytes. It may come with a repository, and 1 MiB of YAML already takes seconds. */
const MAX_CONFIGURATION_BYTES = 1024 * 1024;

/** Maximum number of problems shown of one file; the rest are counted. */
const SHOWN_PROBLEMS = 10;

/** Loads a configuration file, YAML or JSON. */
export function loadDocument(source: TextSource, scalars: Scalars = "typed"): Result<SourceDocument, Problem> {
  const text = readText(source, MAX_CONFIGURATION_BYTES);
  return text.ok ? parseDocument(shownName(source), text.value, scalars) : text;
}

/** Converts the findings in a document to one failure, in document order. */
export function findingsFailure(document: SourceDocument, findings: readonly Finding[]): Failure {
  return problemsFailure(problemsIn(document, findings));
}

/** Converts the findings in a document to problems, in document order. */
export function problemsIn({ problem }: SourceDocument, findings: readonly Finding[]): Problem[] {
  return findings
    .map(problem)
    .sort(
      ({ position: one }, { position: other }) =>
        (one?.line ?? 0) - (other?.line ?? 0) || (one?.column ?? 0) - (other?.column ?? 0),
    );
}

/**
 * Combines problems into one failure: its message shows each with its place, its details hold them as data. Its code is `configuration`, or
 * `not_found` if no file is there.
 */
export function problemsFailure(problems: readonly Problem[]): Failure {
  const shown = problems.slice(0, SHOWN_PROBLEMS);
  const rest = problems.length - shown.length;
  const lines = shown.flatMap(explain);
  if (rest > 0) lines.push(`and ${rest} more ${rest === 1 ? "problem" : "problems"}`);
  const located = shown.map(({ position, missing: _missing, ...about }) => {
    return { ...about, line: position?.line, column: position?.column };
  });
  const details = { problems: located };
  return problems.every(({ missing }) => missing)
    ? failure("not_found", lines.join("\n"), { details, hint: "Correct the name, and try again." })
    : failure("configuration", lines.join("\n"), { details });
}
