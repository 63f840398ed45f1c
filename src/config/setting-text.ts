import { parseDuration } from "../lib/durations.ts";
import type { Json } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { Environment } from "./found.ts";
import type { Problem } from "../protocol/document/problem.ts";
import { SETTING_KINDS } from "../protocol/payload.ts";

/** A setting given by a flag or a variable: its name as typed, the setting's dotted key, and the text. */
export interface GivenText {
  readonly name: string;
  readonly key: SettingKey;
  readonly text: string;
}

/** The settings that can be given as one text. */
type SettingKey = keyof typeof SETTING_KINDS;

/** The JSON pointer of a dotted key: `/budget/turns` for `budget.turns`. */
export function keyPointer(key: string): string {
  return `/${key.replaceAll(".", "/")}`;
}

/** The environment variable of a setting: `BOSUN_MAX_WORKERS`, `BOSUN_BUDGET_TURNS`. */
function variableOf(key: SettingKey): string {
  return `BOSUN_${key.replaceAll(".", "_").toUpperCase()}`;
}

/** The settings in the environment. An empty variable counts as not set. */
export function environmentTexts(environment: Environment): GivenText[] {
  return (Object.keys(SETTING_KINDS) as SettingKey[]).flatMap((key) => {
    const text = environment[variableOf(key)];
    return text === undefined || text === "" ? [] : [{ name: variableOf(key), key, text }];
  });
}

export function givenValues(given: readonly GivenText[]): Result<[key: SettingKey, value: Json][], Problem[]> {
  const values: [SettingKey, Json][] = [];
  const problems: Problem[] = [];
  for (const { name, key, text } of given) {
    const value = readValue(key, text);
    if (value.ok) values.push([key, value.value]);
    else problems.push({ file: name, pointer: keyPointer(key), ...value.error });
  }
  return problems.length > 0 ? err(problems) : ok(values);
}

function readValue(key: SettingKey, text: string): Result<Json, Pick<Problem, "what" | "expected">> {
  const kind = SETTING_KINDS[key];
  if (kind !== "switch") return kind === "text" ? ok(text) : readNumber(key, text);
  if (text === "true" || text === "false") return ok(text === "true");
  return err({ what: `${JSON.stringify(text)} is not a switch`, expected: "true or false" });
}

/** Parses a number or, for a time setting, a duration, which is converted to the unit of the setting. */
function readNumber(key: SettingKey, text: string): Result<number, Pick<Problem, "what" | "expected">> {
  if (/^-?\d+(\.\d+)?$/.test(text) && Number.isFinite(Number(text))) return ok(Number(text));
  const unit_ms = key.endsWith("_ms") ? 1 : key.endsWith("_s") ? 1000 : undefined;
  if (unit_ms === undefined) {
    return err({ what: `${JSON.stringify(text)} is not a number`, expected: "a number such as 8" });
  }
  const duration = parseDuration(text);
  if (duration.ok) return ok(duration.value / unit_ms);
  const { what, expected } = duration.error;
  return err({ what, expected: unit_ms === 1 ? expected.replace("seconds", "milliseconds") : expected });
}
