/** What joins commands, redirects them, or puts others into them: behind an allowed beginning anything could follow. */
const SHELL_OPERATORS = /[;&|<>`$(){}\n\r\\]/;

/** Whether a role's `permissions.commands` allow a command: `npm test` is that command, `git *` every single one that begins so. */
export function isAllowedCommand(command: string, patterns: readonly string[]): boolean {
  const wanted = command.trim();
  return patterns.some((pattern) => {
    if (!pattern.endsWith("*")) return wanted === pattern.trim();
    return wanted.startsWith(pattern.slice(0, -1)) && !SHELL_OPERATORS.test(wanted);
  });
}
