import type { Json, JsonObject } from "../lib/json.ts";
import { didYouMean } from "../lib/nearest.ts";
import { inTime } from "../lib/time-limit.ts";
import { cleanToolName } from "./history.ts";
import { textOfValue, type ToolDefinition } from "./messages.ts";

export interface ToolContext {
  readonly toolCallId: string;
  /** Aborted when the turn is, and when the tool's time is up. */
  readonly signal: AbortSignal;
}

/** Carries out a call. What it throws is told to the model. */
export type ToolExecutor = (name: string, given: JsonObject, context: ToolContext) => Json | Promise<Json>;

/** What a model may call, and who carries it out. */
export interface Tools {
  readonly definitions: readonly ToolDefinition[];
  readonly execute: ToolExecutor;
}

export class ToolNotFoundError extends Error {
  override readonly name = "ToolNotFoundError";

  constructor(name: string, known: readonly string[]) {
    const there = known.length === 0 ? "there are none" : `the tools are ${known.join(", ")}`;
    super(`There is no tool ${JSON.stringify(name)}: ${there}.${didYouMean(name, known)}`);
  }
}

export interface ToolLimits {
  /** 2 minutes if absent. */
  readonly timeoutMs?: number;
  /** Of a result as text, in UTF-8. A longer one is cut, and says so. 256 KiB if absent. */
  readonly maxResultBytes?: number;
}

export interface FunctionTool {
  readonly description: string;
  /** A JSON Schema, told to the model. The function checks what it is given. Without it, it takes no arguments. */
  readonly parameters?: JsonObject;
  run(given: JsonObject, context: ToolContext): Json | Promise<Json>;
}

/** Functions as tools, by name. */
export function functionTools(functions: Readonly<Record<string, FunctionTool>>, limits: ToolLimits = {}): Tools {
  const byName = new Map(Object.entries(functions));
  const definitions = Array.from(byName, ([name, { description, parameters }]) => ({
    name: checkedName(name),
    description,
    parameters: parameters ?? { type: "object", properties: {}, additionalProperties: false },
  }));
  const execute: ToolExecutor = (name, given, context) => {
    const tool = byName.get(name);
    if (!tool) throw new ToolNotFoundError(name, [...byName.keys()]);
    return tool.run(given, context);
  };
  return limitedTools({ definitions, execute }, limits);
}

/** Several sets of tools as one. Throws if two tools have one name. */
export function combinedTools(...sets: readonly Tools[]): Tools {
  const byName = new Map<string, Tools>();
  for (const set of sets)
    for (const { name } of set.definitions) {
      if (byName.has(checkedName(name))) throw new Error(`Two tools are called ${JSON.stringify(name)}: rename one.`);
      byName.set(name, set);
    }
  return {
    definitions: sets.flatMap(({ definitions }) => definitions),
    execute(name, given, context) {
      const set = byName.get(name);
      if (!set) throw new ToolNotFoundError(name, [...byName.keys()]);
      return set.execute(name, given, context);
    },
  };
}

/** The same tools, whose calls end in time and whose results are not huge. */
export function limitedTools({ definitions, execute }: Tools, limits: ToolLimits): Tools {
  const { timeoutMs = 120_000, maxResultBytes = 262_144 } = limits;
  return {
    definitions,
    async execute(name, given, context) {
      const work = async (signal: AbortSignal) => execute(name, given, { ...context, signal });
      return cutTo(maxResultBytes, await inTime(timeoutMs, `The tool ${name} did not answer`, work, context.signal));
    },
  };
}

function cutTo(limit: number, value: Json): Json {
  // A function without a result gives undefined, whatever its type says.
  const bytes = Buffer.from(textOfValue(value ?? null));
  if (bytes.length <= limit) return value ?? null;
  // Leaves out a last character that is cut in two.
  const kept = new TextDecoder().decode(bytes.subarray(0, limit), { stream: true });
  return `${kept}\n[cut: the first ${limit} of ${bytes.length} bytes]`;
}

function checkedName(name: string): string {
  if (cleanToolName(name) === name) return name;
  throw new Error(`${JSON.stringify(name)} is no name for a tool: use at most 64 letters, digits, "_" and "-".`);
}
