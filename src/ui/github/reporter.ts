import { appendFileSync } from "node:fs";
import { plainReporter } from "../plain.ts";
import type { Ending, Opening, Reporter } from "../reporter.ts";
import type { Terminal } from "../terminal.ts";
import { annotationsFor } from "./annotations.ts";
import { summaryMarkdown } from "./summary.ts";
import { annotation, beginGroup, END_GROUP } from "./workflow-command.ts";

/**
 * The plain reporter for the log of a GitHub job: events are in a group, what needs a person is an annotation, and the ending is appended to
 * `summary`, the file of the step's summary, if there is one. In a job, a terminal writes no other text as a workflow command.
 */
export function githubReporter(terminal: Pick<Terminal, "out" | "err">, summary: string | undefined): Reporter {
  const { out } = terminal;
  const plain = plainReporter({ ...terminal, canRedraw: false });
  let opening: Opening | undefined;
  let isGroupOpen = false;
  const endGroup = () => {
    if (isGroupOpen) out.command(END_GROUP);
    isGroupOpen = false;
  };
  const summarize = (ending: Ending) => {
    if (summary === undefined) return;
    try {
      appendFileSync(summary, summaryMarkdown(out, ending, opening?.resumed));
    } catch (error) {
      out.command(annotation("warning", "Bosun", `The summary cannot be written: ${String(error)}`));
    }
  };
  return {
    begin(begun) {
      opening = begun;
      plain.begin(begun);
      out.command(beginGroup(`What happens in ${begun.session_id}`));
      isGroupOpen = true;
    },
    event(event) {
      if (event.kind === "warning") out.command(annotation("warning", opening?.session_id ?? "Bosun", event.text));
      else plain.event(event);
    },
    asked: (waiting) => plain.asked(waiting),
    childWaits: (child) => plain.childWaits(child),
    end(ending) {
      endGroup();
      plain.end(ending);
      for (const line of annotationsFor(out, ending)) out.command(line);
      summarize(ending);
    },
    close() {
      plain.close();
      endGroup();
    },
  };
}
