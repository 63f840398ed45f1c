import { err, ok, type Result } from "./result.ts";

const UNITS = [
  { name: "d", milliseconds: 86_400_000 },
  { name: "h", milliseconds: 3_600_000 },
  { name: "m", milliseconds: 60_000 },
  { name: "s", milliseconds: 1_000 },
  { name: "ms", milliseconds: 1 },
] as const;

const DURATION = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;

/** The longest duration accepted, in milliseconds: a year, as in the schemas. A longer one is probably a typing error. */
export const MAX_DURATION_MS = 365 * 86_400_000;

/**
 * Parses a duration to milliseconds: `250ms`, `90s`, `15m`, `4h`, `1d`, or several units in descending order, `1h30m`. Fails with a sentence
 * that says what is wrong and what is expected. A number without a unit is refused.
 */
export function parseDuration(text: string): Result<number, string> {
  const parts = DURATION.exec(text);
  if (text === "" || parts === null) {
    const bare = /^\d+(\.\d+)?$/.test(text) ? `it has no unit (${text}s? ${text}m?)` : "it is not a duration";
    return err(`"${text}": ${bare}; write a whole number with d, h, m, s or ms, such as 90s, 15m or 1h30m`);
  }
  let total = 0;
  for (const [index, unit] of UNITS.entries()) total += Number(parts[index + 1] ?? 0) * unit.milliseconds;
  if (total > MAX_DURATION_MS) return err(`"${text}": it is longer than the longest duration allowed, 365d`);
  return ok(total);
}

/**
 * Formats milliseconds with at most two units: `250ms`, `48s`, `2m11s`, `4h05m`, `3d`. Rounds down, so that a clock never runs ahead. Negative
 * durations are `0s`.
 */
export function formatDuration(milliseconds: number): string {
  const total = Math.max(0, Math.floor(milliseconds));
  const index = UNITS.findIndex((unit) => total >= unit.milliseconds);
  const unit = UNITS[index];
  if (unit === undefined) return "0s";
  const count = Math.floor(total / unit.milliseconds);
  const minor = UNITS[index + 1];
  if (minor === undefined || minor.name === "ms") return `${count}${unit.name}`;
  const rest = Math.floor((total % unit.milliseconds) / minor.milliseconds);
  return rest === 0 ? `${count}${unit.name}` : `${count}${unit.name}${String(rest).padStart(2, "0")}${minor.name}`;
}
