import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { TurnRequest } from "../../kernel/agent.ts";
import { err, ok, type Result } from "../../lib/result.ts";
import type { Problem } from "../../protocol/document/problem.ts";
import type { Refusal } from "../../protocol/refusal.ts";
import { nonceFor } from "./quoting.ts";
import { fill, parseTemplate, type Template } from "./template.ts";
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

/** The template around every message, and the one that asks again. The others are named after their message. */
const FRAME = "turn";
const REPAIR = "repair";

/** The placeholders of the template that asks again. */
const REFUSED = ["refused.payload_type", "refused.code", "refused.pointer", "refused.message"];

const SUFFIX = ".md";

/** The built-in templates. */
export function builtInPrompts(): PromptFile[] {
  const folder = shippedFolder();
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

/** The prompts of the built-in templates, which are read on first use. */
export const standardPrompts: Prompts = {
  render: (request, wants) => standard().render(request, wants),
  repair: (refused) => standard().repair(refused),
};

let made: Prompts | undefined;

function standard(): Prompts {
  if (made === undefined) {
    const prompts = makePrompts();
    if (!prompts.ok) throw new Error(prompts.error.map(({ file, what }) => `${file}: ${what}`).join("\n"));
    made = prompts.value;
  }
  return made;
}

/** The template for a message: `report.verdict` if it asks for a verdict and there is such a template, else `report`. */
function templateOf({ payload }: TurnRequest, templates: ReadonlyMap<string, Template>): string {
  const { payload_type } = payload.message;
  const special = payload.expects.map((type) => `${payload_type}.${type}`).find((name) => templates.has(name));
  return special ?? payload_type;
}

function messageOf(name: string): string {
  return name.split(".")[0] ?? name;
}

function shippedFolder(): string {
  for (let above = import.meta.dirname; ; above = dirname(above)) {
    const folder = join(above, "config", "prompts");
    if (existsSync(join(folder, FRAME + SUFFIX))) return folder;
    if (above === dirname(above)) throw new Error(`No config/prompts/ above ${import.meta.dirname}: reinstall Bosun.`);
  }
}
