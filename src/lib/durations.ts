import { err, ok, type Result } from "./result.ts";

const UNITS = [
  { name: "d", milliseconds: 86_400_000 },
  { name: "h", milliseconds: 3_600_000 },
  { name: "m", milliseconds: 60_000 },
  { name: "s", milliseconds: 1_000 },
  { name: "ms", milliseconds: 1 },
] as const;

const COUNT = String.raw`(\d+(?:\.\d+)?)`;
const DURATION = new RegExp(`^(?=.)${UNITS.map(({ name }) => `(?:${COUNT}${name})?`).join("")}$`);
const BARE = new RegExp(`^${COUNT}$`);

/** The longest duration accepted, in milliseconds: a year, as in the schemas. A longer one is probably a typing error. */
export const MAX_DURATION_MS = 365 * 86_400_000;

/** What a duration looks like, for helps and hints. */
export const DURATION_FORM = "90s, 15m, 1h30m or 2d; a number alone is seconds";

/**
 * Parses a duration to milliseconds: `250ms`, `90s`, `15m`, `1.5h`, `2d`, several units in descending order, as `1h30m`, or a number of seconds.
 * Fails with a sentence that says what is wrong, and what is expected.
 */
export function parseDuration(text: string): Result<number, { readonly what: string; readonly expected: string }> {
  const counts = DURATION.exec(BARE.test(text) ? `${text}s` : text)?.slice(1);
  if (counts === undefined) return err({ what: `${JSON.stringify(text)} is not a duration`, expected: DURATION_FORM });
  const total = UNITS.reduce((sum, { milliseconds }, index) => sum + Number(counts[index] ?? 0) * milliseconds, 0);
  if (total <= MAX_DURATION_MS) return ok(Math.round(total));
  return err({ what: `${JSON.stringify(text)} is longer than the longest duration`, expected: "at most 365d" });
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
