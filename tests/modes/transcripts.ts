import type { Transcript } from "../../src/kernel/kit/transcript.ts";

/** The transcript of another session: each author with a text. */
export function transcriptOf(...said: readonly (readonly [author: string, text: string])[]): Transcript {
  const entries = said.map(([source, text], place) => {
    return { sequence: 2 * place + 3, source, payload_type: "report", payload: { text } };
  });
  return { session_id: "c-before", mode: "conversation", up_to: 40, entries };
}
