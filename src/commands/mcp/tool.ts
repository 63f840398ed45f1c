import type { Json, JsonObject } from "../../lib/json.ts";
import { err } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import { onlyForPeople } from "../../protocol/inside-turn.ts";
import { fileFindings } from "../../protocol/schema-errors.ts";
import type { CommandContext } from "../context/command.ts";

/** A list is for choosing from; the newest are first. */
export const MOST_LISTED = 50;

/** A JSON Schema without schemas in it. */
export type Shape = { [keyword: string]: string | number | boolean | string[] };

/** What a client may call. Its result is a value, which the client gets as such and as text. */
export interface McpTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schemas of its arguments, by name. Other arguments are refused. */
  readonly input: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  /** Whether it only shows, runs agents with the rights of this user, or takes a person's decision, which agents and checks may not. */
  readonly kind: "shows" | "acts" | "runs" | "decides";
  run(context: CommandContext, given: JsonObject): Promise<Fallible<object>>;
}

/** An argument that is a text. */
export function text(description: string): Shape {
  return { type: "string", minLength: 1, description };
}

export function wordIn(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The JSON Schema of a tool's arguments. */
export function inputSchemaOf({ input, required = [] }: McpTool) {
  return { type: "object" as const, properties: { ...input }, required: [...required], additionalProperties: false };
}

/** Carries out a call. An unknown tool, wrong arguments and what is refused are failures that say what is allowed. */
export async function callTool(
  tools: readonly McpTool[],
  context: CommandContext,
  name: string,
  given: JsonObject,
): Promise<Fallible<object>> {
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) {
    const hint = `The tools are ${tools.map((one) => one.name).join(", ")}.`;
    return fails("not_found", `There is no tool ${JSON.stringify(name)}.`, { hint });
  }
  const wrong = await wrongIn(tool, given);
  if (wrong.length > 0) {
    const names = Object.keys(tool.input).map((key) => (tool.required?.includes(key) ? `${key} (required)` : key));
    return fails("usage", `${name}: ${wrong.join("; ")}.`, { hint: `It takes ${names.join(", ")}.` });
  }
  const refused = tool.kind === "decides" ? onlyForPeople(`mcp: ${name}`, context.environment) : undefined;
  return refused ? err(refused) : tool.run(context, given);
}

/** What is wrong with the arguments of a call, each in words. */
async function wrongIn(tool: McpTool, given: JsonObject): Promise<string[]> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const validate = new Ajv2020({ allErrors: true, verbose: true, ownProperties: true, strict: false }).compile(
    inputSchemaOf(tool),
  );
  if (validate(given)) return [];
  return fileFindings(validate.errors ?? []).map(({ what, nearest, expected }) => {
    const meant = nearest === undefined ? expected : `did you mean ${JSON.stringify(nearest)}?`;
    return meant === undefined ? what : `${what} (${meant})`;
  });
}
