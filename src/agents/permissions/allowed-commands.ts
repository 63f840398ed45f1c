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
