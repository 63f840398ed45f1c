import type { Dialect as DialectName, Role } from "../../../protocol/roles.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import type { Dialect } from "./dialect.ts";
import { envelope } from "./envelope.ts";

const DIALECTS: Partial<Record<DialectName, Dialect>> = { envelope, claude, codex };

/** The dialect of a role whose defaults are filled in. */
export function dialectFor({ dialect = "envelope" }: Pick<Role, "dialect">): Dialect {
  return DIALECTS[dialect] ?? envelope;
}

/** Whether this version speaks a dialect. */
export function isSpoken(dialect: DialectName): boolean {
  return Object.hasOwn(DIALECTS, dialect);
}
