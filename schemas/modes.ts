import { withArticle } from "../src/lib/article.ts";
import { type Json, type JsonObject, listOf, objectOf, textOf } from "../src/lib/json.ts";
import { beginningOf, fillingOptions } from "../src/kernel/kit/descriptor.ts";
import type { AnyDescriptor } from "../src/modes/index.ts";

/** The part of SPEC.md about the modes of the kit, made from their descriptors. */
export function modesSection(descriptors: readonly AnyDescriptor[]): string {
  return descriptors.map(modeSection).join("\n");
}

function modeSection(descriptor: AnyDescriptor): string {
  const { name, rules, subject, command, input, seats, messages, states } = descriptor;
  const filled = " (if it names none, the first without a seat)";
  const taken = seats
    .map(({ at, types, fills, open }) => {
      const outside = open ? ", or somebody from outside" : "";
      return `${code(at)} a ${types.join(" or ")}${outside}${fills ? filled : ""}`;
    })
    .join(", ");
  const begun = command.words === undefined ? "" : ` Begun by ${code(`bosun ${beginningOf(descriptor)}`)}.`;
  const arrows = Object.entries(states).flatMap(([from, on]) =>
    Object.entries(on).map(([event, to]) => ({ event, from, to })),
  );
  const given = fillingOptions(descriptor)
    .map(({ flags, field }) => `${code(field)} by ${code(flags)}`)
    .join(", ");
  const events = Map.groupBy(arrows, ({ event, to }) => `| ${code(event)} |@| ${code(to)} |`);
  return [
    `**${code(name)}** (rules ${rules}): ${command.summary}.${begun} Its \`input\`: ${fieldsText(input)}. On the command line: ${given}. In its seats: ${taken}.`,
    "",
    `| ${code(name)} asks with | to | answers |`,
    "|---|---|---|",
    ...Object.entries(messages).map(
      ([type, { to, answers }]) => `| ${code(type)} | ${to.join(" or ")} | ${answers.map(code).join(" or ")} |`,
    ),
    "",
    `| event of ${withArticle(subject)} | from | to |`,
    "|---|---|---|",
    ...Array.from(events, ([row, all]) => row.replace("@", ` ${all.map(({ from }) => code(from)).join(", ")} `)),
    "",
  ].join("\n");
}

/** What fields hold that name something else on the command line. */
const HELD: Readonly<Record<string, string>> = {
  transcript: "a transcript, on the command line the session",
  schema: "a JSON Schema, on the command line the file",
};

/** The fields of an object, each with what it holds; `(r)` marks those that are required. */
function fieldsText({ properties, required }: JsonObject): string {
  return Object.entries(objectOf(properties))
    .map(([name, field]) => fieldText(name, objectOf(field), listOf(required).includes(name)))
    .join(", ");
}

function fieldText(name: string, field: JsonObject, isRequired: boolean): string {
  const { type, enum: choices, items, minimum, maximum, minItems, maxItems, default: standard } = field;
  const holds = HELD[textOf(field["holds"])];
  const values = [
    ...(holds === undefined ? [] : [holds]),
    ...(choices === undefined ? [] : [listOf(choices).map(code).join(", ")]),
    ...(minimum === undefined ? [] : [`${minimum as number} to ${maximum as number}`]),
    ...(minItems === undefined ? [] : [`${minItems as number} to ${maxItems as number} entries`]),
    ...(standard === undefined ? [] : [`default ${code(standard)}`]),
  ];
  const what = values.length === 0 ? "" : ` (${values.join("; ")})`;
  const inner = type === "array" ? objectOf(items) : holds === undefined ? field : {};
  const of = inner["properties"] === undefined ? "" : ` {${fieldsText(inner)}}`;
  return `${code(type === "array" ? `${name}[]` : name)}${isRequired ? " (r)" : ""}${of}${what}`;
}

function code(value: Json): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}
