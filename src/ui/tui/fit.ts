import type { Terminal } from "../terminal.ts";
import { MIN_SIZE } from "./scene.ts";

/** Why this terminal cannot show a full screen, as a sentence; undefined if it can. Screen readers do better with plain lines. */
export function unfitFor(
  { out, input, isDumb }: Terminal,
  environment: { readonly [name: string]: string | undefined },
  screen = "The dashboard",
): string | undefined {
  const { stream } = out;
  if (!stream.isTTY || !input.isTTY) return `${screen} needs a terminal for its input and output.`;
  if (isDumb) return `${screen} needs a terminal that can move its cursor.`;
  if (environment.INK_SCREEN_READER === "true") return `${screen} is not shown to a screen reader.`;
  const { columns, rows } = stream;
  if (columns >= MIN_SIZE.columns && rows >= MIN_SIZE.rows) return undefined;
  return `${screen} needs ${MIN_SIZE.columns} columns and ${MIN_SIZE.rows} rows; this terminal has ${columns} and ${rows}.`;
}
