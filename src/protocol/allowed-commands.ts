/** Characters that join, redirect or substitute commands: with them, anything could follow an allowed prefix. */
const SHELL_OPERATORS = /[;&|<>`$(){}\n\r\\]/;

/** Whether a role's `permissions.commands` allow a command: `npm test` allows exactly that, `ls *` every single command with that prefix. */
export function isAllowedCommand(command: string, patterns: readonly string[]): boolean {
  const wanted = command.trim();
  return patterns.some((pattern) => {
    if (!pattern.endsWith("*")) return wanted === pattern.trim();
    return wanted.startsWith(pattern.slice(0, -1)) && !SHELL_OPERATORS.test(wanted);
  });
}

/** The patterns of `allowed_commands`: each command, also with more arguments. */
export function withArguments(commands: readonly string[]): string[] {
  return commands.flatMap((command) => [command, `${command} *`]);
}

/** Whether a text can be one of `allowed_commands`: a single command, which the schema describes, too. */
export function isPlainCommand(text: string): boolean {
  return text.length <= 1000 && /^[^\s;&|<>`$(){}\\*,][^;&|<>`$(){}\\*,\n\r\t]*$/.test(text);
}

/** A word of a command that names what is done, not on what: no option, path, value or quoted text. */
const NAME = /^[a-z][\w:-]*$/i;

/** Programs that run whatever their arguments say. */
const RUNNERS =
  /^(?:(?:ba|da|fi|k|z)?sh|env|sudo|doas|time|timeout|nice|nohup|xargs|exec|eval|command|node|deno|python\d*|perl|ruby|npx|dlx|bunx|uvx)$/;

/**
 * What commands like this one begin with: the program and its subcommand, `npm test`, for `run` with what is run. Undefined where the first words do not say
 * what is done, as in `rm -rf build`, and for what is no single command.
 */
export function prefixOf(command: string): string | undefined {
  const words = command.trim().split(" ");
  const count = words[1] === "run" ? 3 : 2;
  const first = words.slice(0, count);
  const isClear = isPlainCommand(command.trim()) && first.length === count;
  return isClear && first.every((word) => NAME.test(word) && !RUNNERS.test(word)) ? first.join(" ") : undefined;
}
