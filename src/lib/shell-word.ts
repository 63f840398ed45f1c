/** Quotes a word for a shell, so that an agent's text does not become a command when a person copies the line. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
