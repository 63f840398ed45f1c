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

/**
 * What stands for commands like this one when it is allowed with more arguments: the program with its subcommand, `npm test`, with what is run for `run`;
 * else the whole command, since `node *` would be anything. Undefined for what is no single command.
 */
export function prefixOf(command: string): string | undefined {
  const wanted = command.trim();
  if (!isPlainCommand(wanted)) return undefined;
  const words = wanted.split(" ");
  const count = words[1] === "run" ? 3 : 2;
  return words.length >= count && words.slice(0, count).every((word) => NAME.test(word))
    ? words.slice(0, count).join(" ")
    : wanted;
}
