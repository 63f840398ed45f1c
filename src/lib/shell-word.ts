/** A word as a shell takes it for one: what an agent wrote must not become a command when a person copies the line. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
