#!/usr/bin/env node
// A judge that concludes with its argument, and counts how often each debater changed its position.
// One turn_request in, one verdict out.
import { text } from "node:stream/consumers";

const line = await text(process.stdin); // one line; node:readline would also split it at U+2028
if (line === "") process.exit(0); // end of file without a line: exit without working
const { session_id, payload } = JSON.parse(line);
const opinions = Map.groupBy(payload.context.transcript, (entry) => entry.source);
const moves = (id) => opinions.get(id).filter((entry) => entry.payload.round > 1 && entry.payload.changed).length;
const verdict = {
  conclusion: process.argv[2],
  reasons: [...opinions.keys()].map((id) => `changes of position by ${id}: ${moves(id)}`),
  consensus: new Set([...opinions.values()].map((said) => said.at(-1).payload.position)).size === 1,
};
const envelope = { session_id, source: payload.role_id, target: "scheduler", payload_type: "verdict", version: "1.0" };
console.log(JSON.stringify({ ...envelope, payload: verdict }));
