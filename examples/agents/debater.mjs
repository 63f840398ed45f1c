#!/usr/bin/env node
// A debater that takes its positions from its arguments, one for each round; the last one stays.
// One turn_request in, one opinion out.
import { text } from "node:stream/consumers";

const line = await text(process.stdin); // one line; node:readline would also split it at U+2028
if (line === "") process.exit(0); // end of file without a line: exit without working
const { session_id, payload } = JSON.parse(line);
const { transcript, metadata } = payload.context;
const positions = process.argv.slice(2);
const positionIn = (round) => positions[Math.min(round, positions.length) - 1];
const others = transcript.filter((entry) => entry.source !== payload.role_id);
const opinion = {
  round: metadata.round,
  position: positionIn(metadata.round),
  reasons: others.map((entry) => `${entry.source} holds: ${entry.payload.position}`),
  changed: positionIn(metadata.round) !== positionIn(metadata.round - 1),
};
const envelope = { session_id, source: payload.role_id, target: "scheduler", payload_type: "opinion", version: "1.0" };
console.log(JSON.stringify({ ...envelope, payload: opinion }));
