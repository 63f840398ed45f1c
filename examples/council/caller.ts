// Calls a council, takes part in it and closes it: acts by commands, and hears of events from the library.
//   node caller.ts ann "Which store?" "Keep it" ben kim
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { subscribe } from "bosun";

interface Info {
  readonly directory: string;
  readonly proposals: readonly Proposal[];
}

interface Proposal {
  readonly proposal_id: string;
  readonly title: string;
  readonly status: string;
  readonly result: { readonly counts: { readonly yes: number; readonly no: number } };
}

const [me = "", topic = "", title = "", ...others] = process.argv.slice(2);

/** What a command says as JSON. Throws if it is refused. */
function meeting<T>(act: string, ...words: string[]): T {
  return JSON.parse(execFileSync("bosun", ["meeting", act, ...words, "--json"], { encoding: "utf8" })) as T;
}

const info = (): Info => meeting("info", council);

function discuss(): void {
  meeting("post", council, "--text", `I propose: ${title}.`);
  meeting("propose", council, "--title", title, "--details", `It answers: ${topic}`);
  meeting("state", council, "voting", "--reason", "All is said.");
}

function vote(): void {
  const { proposal_id = "" } = info().proposals.at(-1) ?? {};
  meeting("vote", council, proposal_id, "yes", "--rationale", "It is my own proposal.");
}

function close(): void {
  const words = info().proposals.map(
    (one) => `${one.title} is ${one.status}, with ${one.result.counts.yes} for and ${one.result.counts.no} against it.`,
  );
  meeting("close", council, "--summary", words.join(" "));
}

const everybody = [me, ...others].join(",");
const quorum = String(1 + others.length);
const created = ["--topic", topic, "--participants", everybody, "--quorum", quorum, "--as", me];
const { session_id: council } = meeting<{ session_id: string }>("create", ...created);
// Every later command acts as this participant.
process.env["BOSUN_MEETING_TOKEN"] = meeting<{ token: string }>("join", council, "--as", me).token;
console.log(council);

const home = resolve(info().directory, "..", "..");
for await (const { event, new_state } of subscribe(home, council)) {
  // All have joined: the council begins by itself. It discusses again after a vote.
  if (new_state === "discussion" && info().proposals.length === 0) discuss();
  else if (event === "VOTING_STARTED") vote();
  else if (event === "PROPOSAL_RESOLVED") close();
}
console.log(meeting<{ summary_text: string }>("read", council, "--type", "summary").summary_text);
