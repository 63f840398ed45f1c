import { parseDuration } from "../lib/durations.ts";
import type { Json } from "../lib/json.ts";
import { err, ok, type Result } from "../lib/result.ts";
import type { Environment } from "./found.ts";
import type { Problem } from "../protocol/document/problem.ts";

/** A setting given by a flag or a variable: its name as typed, the setting's dotted key, and the text. */
export interface GivenText {
  readonly name: string;
  readonly key: SettingKey;
  readonly text: string;
}

/** A setting's value with the name of its source. */
interface GivenValue {
  readonly name: string;
  readonly key: SettingKey;
  readonly value: Json;
}

const NUMBERS = [
  "max_workers",
  "max_retries",
  "max_attempts",
  "retry_backoff_ms",
  "timeout_s",
  "idle_timeout_s",
  "kill_grace_s",
  "answer_grace_s",
  "max_line_bytes",
  "max_output_bytes",
  "max_review_rounds",
  "check_rounds",
  "max_clarification_rounds",
  "max_escalations",
  "max_recoveries",
  "max_hold_s",
  "dependency_notice_s",
  "budget.turns",
  "budget.tokens",
  "budget.usd",
  "budget.wall_s",
] as const;

const TEXTS = ["plan_approval", "review", "proposal", "isolation", "workspace"] as const;

const SWITCHES = ["confirm"] as const;

/** The settings that can be given as one text. The others are lists and mappings, and only allowed in files. */
export type SettingKey = (typeof NUMBERS)[number] | (typeof TEXTS)[number] | (typeof SWITCHES)[number];

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
  return [...NUMBERS, ...TEXTS, ...SWITCHES].flatMap((key) => {
    const text = environment[variableOf(key)];
    return text === undefined || text === "" ? [] : [{ name: variableOf(key), key, text }];
  });
}

/** Parses settings given as text. If a setting is given twice, the last one counts. */
export function givenValues(given: readonly GivenText[]): Result<GivenValue[], Problem[]> {
  const values: GivenValue[] = [];
  const problems: Problem[] = [];
  for (const { name, key, text } of given) {
    const value = readValue(key, text);
    if (value.ok) values.push({ name, key, value: value.value });
    else problems.push({ file: name, pointer: keyPointer(key), ...value.error });
  }
  return problems.length > 0 ? err(problems) : ok(values);
}

function readValue(key: SettingKey, text: string): Result<Json, Pick<Problem, "what" | "expected">> {
  if ((TEXTS as readonly string[]).includes(key)) return ok(text);
  if (!(SWITCHES as readonly string[]).includes(key)) return readNumber(key, text);
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
