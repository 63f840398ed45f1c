// Calls a council, takes part in it and closes it: acts by commands, and hears of events from the library.
//   node caller.ts ann "Which store?" "Keep it" ben kim
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { subscribe } from "bosun";

/** What commands say as JSON, each a part of it. */
interface Said {
  readonly session_id: string;
  readonly token: string;
  readonly directory: string;
  readonly proposals: readonly Proposal[];
  readonly summary_text: string;
}

interface Proposal {
  readonly proposal_id: string;
  readonly title: string;
  readonly status: string;
  readonly result: { readonly counts: { readonly yes: number; readonly no: number } };
}

const [me = "", topic = "", title = "", ...others] = process.argv.slice(2);

/** Runs a command. Throws if it is refused. */
function meeting(act: string, ...words: string[]): Said {
  return JSON.parse(execFileSync("bosun", ["meeting", act, ...words, "--json"], { encoding: "utf8" })) as Said;
}

function discuss(): void {
  meeting("post", council, "--text", `I propose: ${title}.`);
  meeting("propose", council, "--title", title, "--details", `It answers: ${topic}`);
  meeting("state", council, "voting", "--reason", "All is said.");
}

function vote(): void {
  const { proposal_id = "" } = meeting("info", council).proposals.at(-1) ?? {};
  meeting("vote", council, proposal_id, "yes", "--rationale", "It is my own proposal.");
}

function close(): void {
  const words = meeting("info", council).proposals.map(
    (one) => `${one.title} is ${one.status}, with ${one.result.counts.yes} for and ${one.result.counts.no} against it.`,
  );
  meeting("close", council, "--summary", words.join(" "));
}

const everybody = [me, ...others].join(",");
const quorum = String(1 + others.length);
const created = ["--topic", topic, "--participants", everybody, "--quorum", quorum, "--as", me];
const { session_id: council } = meeting("create", ...created);
// Every later command acts as this participant.
process.env["BOSUN_MEETING_TOKEN"] = meeting("join", council, "--as", me).token;
console.log(council);

const home = resolve(meeting("info", council).directory, "..", "..");
for await (const { event, new_state } of subscribe(home, council)) {
  // All have joined: the council begins by itself. It discusses again after a vote.
  if (new_state === "discussion" && meeting("info", council).proposals.length === 0) discuss();
  else if (event === "VOTING_STARTED") vote();
  else if (event === "PROPOSAL_RESOLVED") close();
}
console.log(meeting("read", council, "--type", "summary").summary_text);
