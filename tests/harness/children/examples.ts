// Runs the examples on scripts, as a program of its own with the installed package, and prints what came of them.
import { ConversationTranscript, type Participant, scriptedAdapter, type ScriptedAnswer } from "bosun/harness";
import { assistant } from "../../../examples/harness/assistant.ts";
import { DebateOrchestrator } from "../../../examples/harness/debate.ts";
import { interrogate } from "../../../examples/harness/interrogator.ts";
import { judge } from "../../../examples/harness/judge.ts";

const seat = (name: string, script: readonly ScriptedAnswer[]): Participant => ({
  name,
  model: "m",
  adapter: scriptedAdapter(script),
});

const numbers = { id: "1", name: "add", arguments: { numbers: [1, 2, 4] } };
let shown = "";
const adding = scriptedAdapter([{ content: "Adding.\n", toolCalls: [numbers] }, "It is 7."]);
await assistant(adding, "m", "What is 1 + 2 + 4?", (text) => (shown += text));

const pro = seat("pro", ["Tea warms.", "Tea is calm. I agree that coffee is faster."]);
const con = seat("con", ["Coffee wakes."]);
const debate = await new DebateOrchestrator(pro, con, seat("judge", ["pro"])).run("tea", 3);

const scores = [{ participant: "pro", score: 8, reason: "calm" }];
const judged = await judge(scriptedAdapter([JSON.stringify({ scores })]), "m", debate.transcript);

const asked = new ConversationTranscript([
  { participant: "witness", message: { role: "assistant", content: "I saw a fox." } },
]);
await interrogate(seat("interrogator", ["Where?", "When?"]), seat("witness", ["At the barn.", "At noon."]), asked, 2);

const said = (transcript: ConversationTranscript) =>
  transcript.turns.map(({ participant, message }) => [participant, message.content]);
const { stoppedBy, verdict } = debate;
const spoken = said(debate.transcript);
process.stdout.write(
  JSON.stringify({ shown, debate: { spoken, stoppedBy, verdict }, judged, interrogation: said(asked) }),
);
