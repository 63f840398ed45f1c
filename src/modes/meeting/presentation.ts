import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import type { ResultPart } from "../../kernel/presentation.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";

/** A meeting is shown as its agents with their latest contributions, its report, and the whiteboard. */
export const meetingPresentation: Descriptor<never, never, never>["presentation"] = {
  statementName: "contribution",
  statuses: {
    speaking: { icon: ">", tone: "busy", stage: "begun" },
    passed: { icon: "!", tone: "warn", stage: "failed" },
    waiting: { icon: "·", tone: "quiet", stage: "waiting" },
    heard: { icon: "+", tone: "good", stage: "done" },
    uncalled: { icon: "·", tone: "quiet", stage: "waiting" },
    left: { icon: "-", tone: "quiet", stage: "failed" },
  },
  lines: { pm_decision: ["prompt_for_agent", "final_report"] },
  closingReasons: { no_report: "The PM wrote no report: the whiteboard stands in its place." },
  document({ session_id, requirement, result }) {
    const { conclusion, output_dir } = objectOf(result);
    const text = conclusion === undefined ? boardText(textOf(requirement), objectOf(result)) : textOf(conclusion);
    return { path: `${textOf(output_dir)}/meeting-${textOf(session_id)}.md`, text };
  },
  parts: (result) => [
    result.conclusion === undefined
      ? { title: "No report", text: "The meeting ended without one.", points: [] }
      : { title: `Report of ${textOf(result.pm)}`, text: textOf(result.conclusion), points: [] },
    ...entriesOf(result),
  ],
};

function entriesOf({ scratchpad }: JsonObject): ResultPart[] {
  return listOf(scratchpad)
    .map(objectOf)
    .map(({ agent_name, content }) => ({ title: textOf(agent_name), text: textOf(content), points: [] }));
}

/** The whiteboard in Markdown, in place of a report. */
function boardText(topic: string, result: JsonObject): string {
  const entries = entriesOf(result).map(({ title, text }) => `## ${title}\n\n${text}`);
  return [`# ${topic}`, "The meeting ended without a report. This is its whiteboard.", ...entries].join("\n\n");
}
