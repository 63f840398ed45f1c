import { isJsonObject, type Json } from "../../lib/json.ts";
import { pointerTo } from "../../lib/json-pointer.ts";
import { nearest } from "../../lib/nearest.ts";
import type { Finding } from "../document/problem.ts";
import { instruction, instruction_proposal, type Validator } from "../generated/validators.js";
import type { Instruction, PlanFile } from "../payload.ts";
import { quote } from "../refusal.ts";
import { fileFindings } from "../schema-errors.ts";

/** Returns the findings about the value at a pointer. */
type Check = (value: Json, pointer: string) => Finding[];

const INSTRUCTION_TIME = { instruction: oneOf("on_ticket", "with_plan") };
const OF_PLAN: Keys = INSTRUCTION_TIME;
const OF_QUESTION: Keys = { pattern: isString };
const OF_TASK: Keys = {
  ...INSTRUCTION_TIME,
  revisions: listOf((value, pointer) => [...fits(instruction)(value, pointer), ...oneCommand(value, pointer)]),
  proposal: fits(instruction_proposal),
  fatal_issues: listOf(isString),
  on_error: oneOf("repeat", "give_up"),
};

type Keys = Readonly<Record<string, Check>>;

/** Finds what the schema allows but the playbook manager cannot play: blank texts, steps with two commands, a wrong `metadata.playbook`. */
export function playbookFindings({ requirement, metadata, questions = [], tasks }: PlanFile): Finding[] {
  return [
    ...blank(requirement, "/requirement"),
    ...playbook(metadata, "", OF_PLAN),
    ...questions.flatMap(({ text, metadata: own }, index) => [
      ...blank(text, `/questions/${index}/text`),
      ...playbook(own, `/questions/${index}`, OF_QUESTION),
    ]),
    ...tasks.flatMap(({ description, instruction, metadata: own }, index) => [
      ...blank(description, `/tasks/${index}/description`),
      ...blank(instruction?.summary, `/tasks/${index}/instruction/summary`),
      ...oneCommand(instruction, `/tasks/${index}/instruction`),
      ...playbook(own, `/tasks/${index}`, OF_TASK),
    ]),
  ];
}

function blank(text: string | undefined, pointer: string): Finding[] {
  return text === undefined || text.trim() !== "" ? [] : [{ pointer, what: "this text is blank" }];
}

function playbook(metadata: Readonly<Record<string, unknown>> | undefined, owner: string, keys: Keys): Finding[] {
  const own = metadata?.["playbook"] as Json | undefined;
  const pointer = `${owner}/metadata/playbook`;
  if (own === undefined) return [];
  if (!isJsonObject(own)) return [mustBe("an object", own, pointer)];
  return Object.entries(own).flatMap(([key, value = null]): Finding[] => {
    const inner = pointerTo(pointer, key);
    if (Object.hasOwn(keys, key)) return keys[key]?.(value, inner) ?? [];
    const known = Object.keys(keys);
    const meant = nearest(key, known);
    const advice = meant === undefined ? { expected: known.join(", ") } : { nearest: meant };
    return [{ pointer: inner, at: "key", what: `${quote(key)} is not a known key`, ...advice }];
  });
}

/** The playbook's worker would not know which of two commands to run. */
function oneCommand(value: unknown, pointer: string): Finding[] {
  const { steps } = (isJsonObject(value) ? value : {}) as Partial<Instruction>;
  if (!Array.isArray(steps)) return [];
  return (steps as NonNullable<Instruction["steps"]>).flatMap((step, index) =>
    typeof step === "object" && step.command !== undefined && step.shell !== undefined
      ? [
          {
            pointer: `${pointer}/steps/${index}`,
            what: "this step has both a command and a shell text",
            expected: "one",
          },
        ]
      : [],
  );
}

/** Checks that the value is a payload of this type. */
function fits(type: Validator): Check {
  return (value, pointer) =>
    type(value)
      ? []
      : fileFindings(type.errors ?? []).map((finding) => ({ ...finding, pointer: pointer + finding.pointer }));
}

function listOf(item: Check): Check {
  return (value, pointer) => {
    if (!Array.isArray(value)) return [mustBe("a list", value, pointer)];
    return (value as Json[]).flatMap((entry, index) => item(entry, pointerTo(pointer, index)));
  };
}

function isString(value: Json, pointer: string): Finding[] {
  return typeof value === "string" && value !== "" ? [] : [mustBe("a string that is not empty", value, pointer)];
}

function oneOf(...words: string[]): Check {
  return (value, pointer) =>
    typeof value === "string" && words.includes(value) ? [] : [mustBe(words.join(" or "), value, pointer)];
}

function mustBe(expected: string, value: Json, pointer: string): Finding {
  return { pointer, what: `${quote(value)} is not allowed here`, expected };
}
