import { err, ok, type Result } from "../lib/result.ts";

/**
 * Splits a command line into its arguments as a shell would: whitespace separates them; `'…'` is literal; in `"…"` a backslash escapes `"`, `\`, `$`
 * and `` ` ``; elsewhere a backslash escapes the next character. Nothing is expanded. Shell operators (`|`, `>`, `;`, `&`, `$NAME`, `*` …) fail with
 * a sentence, because passing them on would silently do something else.
 */
export function splitCommand(line: string): Result<string[], string> {
  const words: string[] = [];
  let word: string | undefined;
  let quote: "'" | '"' | undefined;
  for (let at = 0; at < line.length; at += 1) {
    const character = line.charAt(at);
    const next = line.charAt(at + 1);
    if (quote === undefined && /\s/.test(character)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (character === quote) {
      quote = undefined;
    } else if (quote === undefined && (character === "'" || character === '"')) {
      quote = character;
      word ??= "";
    } else if (character === "\\" && quote !== "'") {
      if (next === "") return err("it ends with a backslash that escapes nothing");
      const kept = quote === undefined || '"\\$`'.includes(next);
      word = (word ?? "") + (kept ? next : `\\${next}`);
      at += 1;
    } else if (isForShell(character, next, quote, word)) {
      return err(`${character} has a meaning only for a shell; quote it with '…', or write sh -c '…'`);
    } else {
      word = (word ?? "") + character;
    }
  }
  if (quote !== undefined) return err(`a ${quote} is never closed`);
  if (word !== undefined) words.push(word);
  return ok(words);
}

function isForShell(character: string, next: string, quote: string | undefined, word: string | undefined): boolean {
  if (quote === "'") return false;
  if (character === "`" || (character === "$" && /[A-Za-z_{(]/.test(next))) return true;
  if (quote === '"') return false;
  return "|&;<>()*?".includes(character) || (character === "~" && word === undefined);
}
