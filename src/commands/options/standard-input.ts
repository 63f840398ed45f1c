import type { Terminal } from "../../ui/terminal.ts";

/** All of standard input, or the beginning of what is longer than `most` bytes in any case; whoever sits there is told what is awaited. */
export async function standardInput(
  { input, err: messages }: Terminal,
  noun: string,
  most: number,
): Promise<Uint8Array> {
  if (input.isTTY) messages.line(`Type the ${noun}, then Ctrl-D:`);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > most) break;
  }
  return Buffer.concat(chunks);
}
