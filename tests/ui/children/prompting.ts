import { promptQuestion } from "../../../src/ui/prompt.ts";
import { processTerminal } from "../../../src/ui/terminal.ts";
import type { OpenQuestion } from "../../../src/ui/waiting.ts";

// Asks two questions, and shows the answers. Every SIGUSR2 writes a line, to stdout and stderr by turns.
const terminal = processTerminal(process.env);
let events = 0;
process.on("SIGUSR2", () => {
  events += 1;
  const output = events % 2 === 0 ? terminal.out : terminal.err;
  output.line(`event ${events}`);
});
terminal.out.line("begin");
const answers: string[] = [];
for (const number of [1, 2]) {
  const question: OpenQuestion = {
    kind: "question",
    ask_id: "a",
    question_id: `q${number}`,
    text: `The question ${number}?`,
    options: ["main", "next"],
  };
  const typed = await promptQuestion(terminal, question, { number, of: 2 }, new AbortController().signal);
  answers.push(typed.kind === "text" ? typed.text : typed.kind);
}
terminal.out.line(`answers ${JSON.stringify(answers)}`);
