/** The workflow commands that GitHub's runner acts on, as far as they matter to a hostile text. */
const REGISTERED = [
  "error",
  "warning",
  "notice",
  "group",
  "endgroup",
  "set-output",
  "add-mask",
  "stop-commands",
  "debug",
];

/** Compared as .NET compares texts in a culture: what is not seen does not count. */
const seen = (line: string) => line.replace(/[\p{Cc}\p{Cf}\p{M}\p{Default_Ignorable_Code_Point}]/gu, "");

/** The lines of a log in which the runner finds a workflow command, in either of its forms. */
export function commandsIn(log: string): string[] {
  return log.split(/\r\n|[\n\r]/).filter((line) => {
    const text = seen(line.trimStart()).trimStart();
    const [, named = ""] = /^::([\w-]+)[^]*?::/.exec(text) ?? [];
    const older = [...text.matchAll(/##\[([\w-]+)/g)].map(([, name = ""]) => name);
    return [named, ...older].some((name) => REGISTERED.includes(name));
  });
}
