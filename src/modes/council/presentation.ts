import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import type { ResultPart } from "../../kernel/presentation.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../../lib/json.ts";

/** A council is shown as its participants, its summary, and its proposals with their votes. */
export const councilPresentation: Descriptor<never, never, never>["presentation"] = {
  statuses: {
    asked: { icon: ">", tone: "busy", stage: "begun" },
    invited: { icon: "·", tone: "quiet", stage: "waiting" },
    joined: { icon: "+", tone: "good", stage: "done" },
    voted: { icon: "+", tone: "good", stage: "done" },
    declined: { icon: "-", tone: "quiet", stage: "failed" },
    left: { icon: "-", tone: "quiet", stage: "failed" },
  },
  lines: {
    agenda_item: ["title"],
    comment: ["text"],
    proposal: ["title", "status"],
    vote: ["vote"],
    state_change: ["new_state"],
    summary: ["summary_text"],
    proposal_result: ["status"],
    participant: ["status"],
  },
  seats: ({ participants }) => listOf(participants).map((one) => textOf(objectOf(one).agent_id)),
  parts: (result) => [
    { title: "Summary", text: textOf(result.summary), points: [] },
    ...listOf(result.proposals).map((proposal) => proposalPart(objectOf(proposal))),
  ],
};

function proposalPart({ proposal_id, title, details, status, result }: JsonObject): ResultPart {
  const { counts, rule, missing, dissent } = objectOf(result);
  const { yes, no, abstain } = objectOf(counts);
  const votes =
    result === undefined ? [] : [`${Number(yes)} yes, ${Number(no)} no, ${Number(abstain)} abstained; ${textOf(rule)}`];
  const silent = listOf(missing).map(textOf);
  const against = listOf(dissent).map(objectOf);
  return {
    title: `${textOf(proposal_id)} ${textOf(status)}: ${textOf(title)}`,
    text: textOf(details),
    points: [
      ...votes,
      ...(silent.length > 0 ? [`did not vote: ${silent.join(", ")}`] : []),
      ...against.map(
        ({ agent_id, vote, rationale }) => `${textOf(agent_id)} said ${textOf(vote)}: ${textOf(rationale)}`,
      ),
    ],
  };
}
