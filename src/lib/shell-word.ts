/** Quotes a word for a shell, so that untrusted text does not run as a command when a person copies the line. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
