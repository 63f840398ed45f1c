import { parseArgs } from "node:util";
import { crew, manager, worker } from "./brains.ts";
import { clientEnvironment } from "./clients.ts";
import type { Model, Step } from "./conversation.ts";
import { scripted } from "./scripted.ts";
import { ModelServer } from "./server.ts";

// Serves a model until it is interrupted, so that Bosun and the programs can be tried without an account:
//   node tests/model-servers/serve.ts --home /var/tmp/try [--port 8099] > /var/tmp/try.env
//   (set -a; . /var/tmp/try.env; bosun run "Write two notes." --crew codex-claude --answer language=English)
// The brain asks one question, plans two tasks of one file each, and does them. `--steps '[{"text":"Hello."}]'` serves steps in its place.
// `--home` gets the programs' configuration, and the variables that lead them to it and to the server are printed.
const { values } = parseArgs({
  options: {
    steps: { type: "string" },
    port: { type: "string", default: "0" },
    home: { type: "string" },
  },
});
const { steps, port, home } = values;

const TWO_NOTES = [
  {
    task_id: "first",
    description: "Write first.txt.",
    acceptance_criteria: [{ text: "first.txt is there", command: ["test", "-s", "first.txt"] }],
  },
  {
    task_id: "second",
    description: "Write second.txt, which names the first.",
    dependencies: ["first"],
    acceptance_criteria: [{ text: "second.txt is there", command: ["test", "-s", "second.txt"] }],
  },
];

const QUESTION = {
  question_id: "language",
  text: "In which language?",
  why: "The notes are read by people.",
  options: ["English", "German"],
  default: "English",
};

const twoNotes: Model = crew(
  manager({ tasks: TWO_NOTES, questions: [QUESTION] }),
  worker(({ ticket_id }) => [
    { write: `${ticket_id}.txt`, content: `This is the ${ticket_id} note.\n` },
    { run: `wc -c ${ticket_id}.txt` },
  ]),
);

const model = steps === undefined ? twoNotes : scripted(...(JSON.parse(steps) as Step[]));
const server = await ModelServer.start(model, { port: Number(port) });
server.heard = ({ conversation, method, path, step, side }) => {
  const what = side ? "a side request" : JSON.stringify(step);
  console.error(`${conversation?.id ?? ""} ${method} ${path}: ${what}`);
};
const environment = home === undefined ? {} : clientEnvironment(server.url, home);
console.log(`# ${server.url}`);
for (const [name, value] of Object.entries(environment)) console.log(`${name}='${value}'`);
