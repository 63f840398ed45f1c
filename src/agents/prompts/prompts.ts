import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { TurnRequest } from "../../kernel/agent.ts";
import { shipped } from "../../lib/files.ts";
import { nearest } from "../../lib/nearest.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Problem } from "../../protocol/document/problem.ts";
import { positionsIn } from "../../protocol/document/source-text.ts";
import { isPayloadType } from "../../protocol/payload.ts";
import type { Refusal } from "../../protocol/refusal.ts";
import { nonceFor } from "./quoting.ts";
import { placeholdersFor, valuesOf } from "./values.ts";

/** Renders turns as prompts for agents that do not speak the envelope dialect. */
export interface Prompts {
  /** The whole prompt of a turn. Set `schema` if the program has no other way to learn the form of the answer. */
  render(request: TurnRequest, wants?: { readonly schema: boolean }): string;
  /** Asks once more for an answer that could not be read, in the same conversation. */
  repair(refused: Refusal): string;
}

/** A template: its name, its file, and its text. */
export interface PromptFile {
  readonly name: string;
  readonly file: string;
  readonly text: string;
}

/** The template around every message, and the one that asks again. The others are named `[mode.]message[.answer]`. */
const FRAME = "turn";
const REPAIR = "repair";

/** The placeholders of the template that asks again. */
const REFUSED = ["refused.payload_type", "refused.code", "refused.pointer", "refused.message"];

const SUFFIX = ".md";

export function builtInPrompts(): PromptFile[] {
  const folder = shipped("config", "prompts");
  return readdirSync(folder)
    .filter((name) => name.endsWith(SUFFIX))
    .sort()
    .map((name) => ({
      name: basename(name, SUFFIX),
      file: join(folder, name),
      text: readFileSync(join(folder, name), "utf8"),
    }));
}

/** Makes the prompts from the built-in templates and those that replace them. Fails with every problem in the templates. */
export function makePrompts(replaced: readonly PromptFile[] = [], nonce?: () => string): Result<Prompts, Problem[]> {
  const files = new Map([...builtInPrompts(), ...replaced].map((prompt) => [prompt.name, prompt]));
  const templates = new Map<string, Template>();
  const problems: Problem[] = [];
  for (const { name, file, text } of files.values()) {
    const names = name === REPAIR ? REFUSED : placeholdersFor(name === FRAME ? undefined : messageOf(name));
    const template = parseTemplate(file, text, names);
    if (template.ok) templates.set(name, template.value);
    else problems.push(template.error);
  }
  if (problems.length > 0) return err(problems);
  const at = (name: string): Template => templates.get(name) ?? [];
  return ok({
    render(request, { schema } = { schema: false }) {
      const mark = nonceFor(JSON.stringify(request.payload), nonce);
      const values = valuesOf(request, mark, schema);
      const message = fill(at(templateOf(request, templates)), values);
      return fill(at(FRAME), (name) => (name === "message" ? message.trimEnd() : values(name)));
    },
    repair: (refused) => fill(at(REPAIR), (name) => refused[name.replace("refused.", "") as keyof Refusal] ?? ""),
  });
}

let standard: Prompts | undefined;

/** The prompts of the built-in templates, which are read on first use. */
export function standardPrompts(): Prompts {
  if (standard === undefined) {
    const prompts = makePrompts();
    if (!prompts.ok) throw new Error(prompts.error.map(({ file, what }) => `${file}: ${what}`).join("\n"));
    standard = prompts.value;
  }
  return standard;
}

/** The template for a message: its mode's own, or that for one of the expected answers, such as `report.verdict`, or that for every mode. */
function templateOf({ mode, payload }: TurnRequest, templates: ReadonlyMap<string, Template>): string {
  const { payload_type } = payload.message;
  const special = [`${mode}.${payload_type}`, ...payload.expects.map((type) => `${payload_type}.${type}`)];
  return special.find((name) => templates.has(name)) ?? payload_type;
}

function messageOf(name: string): string {
  return name.split(".").find((part) => isPayloadType(part)) ?? name;
}

/**
 * A text with placeholders: `{{name}}` stands for a value, and the text between `{{#name}}` and `{{/name}}` is left out if the value is empty. A line
 * that holds only a section mark leaves no empty line.
 */
type Template = readonly Part[];

type Part = string | { readonly name: string; readonly section?: Template };

interface OpenSection {
  readonly name: string;
  readonly at: number;
  readonly parts: Part[];
}

/** Parses a template. Its placeholders must be among `names`. */
function parseTemplate(file: string, text: string, names: readonly string[]): Result<Template, Problem> {
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
    return err({ file, pointer: "", position: positionsIn(text)(index), what, ...more });
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
function fill(template: Template, valueOf: (name: string) => string): string {
  return template
    .map((part) => {
      if (typeof part === "string") return part;
      const value = valueOf(part.name);
      if (part.section === undefined) return value;
      return value === "" ? "" : fill(part.section, valueOf);
    })
    .join("");
}
