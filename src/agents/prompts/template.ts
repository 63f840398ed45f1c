import { nearest } from "../../lib/nearest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Problem } from "../../protocol/document/problem.ts";

/**
 * A text with placeholders: `{{name}}` stands for a value, and the text between `{{#name}}` and `{{/name}}` is left out if the value is empty. A line
 * that holds only a section mark leaves no empty line.
 */
export type Template = readonly Part[];

type Part = string | { readonly name: string; readonly section?: Template };

interface OpenSection {
  readonly name: string;
  readonly at: number;
  readonly parts: Part[];
}

/** Parses a template. Its placeholders must be among `names`. */
export function parseTemplate(file: string, text: string, names: readonly string[]): Result<Template, Problem> {
  const parts: Part[] = [];
  const open: OpenSection[] = [];
  let end = 0;
  for (const { 0: mark, 1: sign = "", 2: inner = "", index } of text.matchAll(/\{\{([#/]?)([^{}\n]*)\}\}/g)) {
    const name = inner.trim();
    const here = open.at(-1)?.parts ?? parts;
    const [start, next] = sign === "" ? [index, index + mark.length] : lineOf(text, index, index + mark.length);
    here.push(text.slice(end, Math.max(start, end)));
    end = next;
    if (sign === "/") {
      const section = open.pop();
      if (section?.name !== name) {
        const expected = section === undefined ? "no such mark" : `{{/${section.name}}}`;
        return wrong(index, `{{/${name}}} closes no section`, { expected });
      }
      (open.at(-1)?.parts ?? parts).push({ name, section: section.parts });
    } else if (!names.includes(name)) {
      return wrong(index, `{{${name}}} is no placeholder of this template`, { nearest: nearest(name, names) });
    } else if (sign === "#") {
      open.push({ name, at: index, parts: [] });
    } else {
      here.push({ name });
    }
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined) {
    return wrong(unclosed.at, `{{#${unclosed.name}}} is not closed`, { expected: `{{/${unclosed.name}}}` });
  }
  parts.push(text.slice(end));
  return ok(parts);

  function wrong(index: number, what: string, more: Pick<Problem, "expected" | "nearest">): Result<never, Problem> {
    const lines = text.slice(0, index).split("\n");
    const column = (lines.at(-1) ?? "").length + 1;
    const source = text.split("\n", lines.length).at(-1) ?? "";
    return err({ file, pointer: "", position: { line: lines.length, column, source }, what, ...more });
  }
}

/** The range of the mark's line if the line holds nothing else, otherwise of the mark itself. */
function lineOf(text: string, start: number, end: number): [number, number] {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const newline = text.indexOf("\n", end);
  const lineEnd = newline < 0 ? text.length : newline + 1;
  const isAlone = text.slice(lineStart, start).trim() === "" && text.slice(end, lineEnd).trim() === "";
  return isAlone ? [lineStart, lineEnd] : [start, end];
}

/** Fills the values into a template. Placeholders inside a value are not filled. */
export function fill(template: Template, valueOf: (name: string) => string): string {
  return template
    .map((part) => {
      if (typeof part === "string") return part;
      const value = valueOf(part.name);
      if (part.section === undefined) return value;
      return value === "" ? "" : fill(part.section, valueOf);
    })
    .join("");
}
