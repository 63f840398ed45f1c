import { sizeOf } from "../kernel/cut.ts";

/** Functions of the program that runs sessions, which make one text of another, by name. */
export type TextFunctions = Readonly<Record<string, (text: string) => string | Promise<string>>>;

/** Maximum size of a text that is made of another, in bytes. */
export const TEXT_BYTES = 256 * 1024;

/** What a function makes of a text, or why it makes none. Undefined if the session ends first. */
export function made(
  functions: TextFunctions,
  name: string,
  text: string,
  signal: AbortSignal,
): Promise<{ readonly passed: boolean; readonly output: string } | undefined> {
  const aborted = new Promise<undefined>((resolve) => signal.addEventListener("abort", () => resolve(undefined)));
  return Promise.race([call(functions, name, text), aborted]);
}

async function call(functions: TextFunctions, name: string, text: string) {
  const does = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (!does) {
    const names = Object.keys(functions).join(", ") || "none";
    return { passed: false, output: `The program that runs this session has no function "${name}". It has: ${names}.` };
  }
  try {
    const output: unknown = await does(text);
    if (typeof output !== "string") return { passed: false, output: `The function "${name}" returned no text.` };
    return sizeOf(output) > TEXT_BYTES ? { passed: false, output: tooLong(name) } : { passed: true, output };
  } catch (error) {
    return { passed: false, output: error instanceof Error ? error.message : String(error) };
  }
}

export function tooLong(who: string): string {
  return `${who} made more than ${TEXT_BYTES} bytes.`;
}
