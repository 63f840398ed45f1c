import { dirname, join } from "node:path";
import { shellWord } from "../lib/shell-word.ts";

/** What to do with a damaged database. */
export function damagedHint(path: string): string {
  return `Keep the file as it is. Every record is a file in the logs, too: ${proving(dirname(path))} Start a new home with --home to go on.`;
}

/** How a session is proved where its database cannot be read. */
export function proving(home: string): string {
  return `\`bosun replay ${shellWord(join(home, "logs"))}/SESSION --verify\` proves one.`;
}
