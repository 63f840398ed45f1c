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

/** What a person types behind a program's name to go on with a conversation of it, where that is known. */
const GOING_ON: Readonly<Partial<Record<DialectName, readonly string[]>>> = {
  claude: ["--resume"],
  codex: ["resume"],
  opencode: ["--session"],
};

/** The command with which a person goes on with a role's conversation; undefined if the program has none. */
export function goingOn({ backend, dialect, cli_command = [] }: Role, id: string): string[] | undefined {
  const words = backend === "acp" ? undefined : GOING_ON[dialect ?? "envelope"];
  return words && [...cli_command.slice(0, 1), ...words, id];
}
