import type { Dialect as DialectName, Role } from "../../../protocol/roles.ts";
import { acp, gemini } from "./acp.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import type { Dialect } from "./dialect.ts";
import { envelope } from "./envelope.ts";
import { opencode } from "./opencode.ts";

const DIALECTS: Readonly<Record<DialectName, Dialect>> = { envelope, claude, codex, gemini, opencode };

/** The dialect of a role whose defaults are filled in. */
export function dialectFor({ backend, dialect = "envelope" }: Pick<Role, "backend" | "dialect">): Dialect {
  return backend === "acp" ? acp : DIALECTS[dialect];
}
