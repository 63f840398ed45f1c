/** The arguments with which Node runs this program again: `node_arguments` are for Node, `words` for the program. */
export function ownArguments(words: readonly string[], node_arguments: readonly string[] = []): string[] {
  const [, program = ""] = process.argv;
  return [...process.execArgv, ...node_arguments, program, ...words];
}
