import type { Descriptor } from "../../kernel/kit/descriptor.ts";
import type { ResultPart } from "../../kernel/presentation.ts";
import { type Json, type JsonObject, listOf, objectOf, textWithin } from "../../lib/json.ts";

/** A debate is shown as its debaters with their positions, and its verdict. */
export const debatePresentation: Descriptor<never, never, never>["presentation"] = {
  statementName: "position",
  statuses: {
    answering: { icon: ">", tone: "busy", stage: "begun" },
    waiting: { icon: "·", tone: "quiet", stage: "waiting" },
    answered: { icon: "+", tone: "good", stage: "done" },
    dropped: { icon: "x", tone: "bad", stage: "failed" },
  },
  lines: { opinion: ["summary", "position"], verdict: ["summary", "conclusion"] },
  closingReasons: { no_debaters_left: "No debater was left." },
  seats: ({ debaters }) => listOf(debaters).map((one) => textWithin(objectOf(one).role_id)),
  parts,
};

/** The verdict, then each debater's last position, from the `result` of the final report. */
function parts({ verdict, judge, rounds, argued_by, debaters }: JsonObject): ResultPart[] {
  const { conclusion, winner, reasons, dissent, consensus } = objectOf(verdict);
  const { held, of } = objectOf(rounds);
  const why = WHY_OVER[textWithin(argued_by)] ?? "";
  const points = [
    ...(winner === undefined ? [] : [`winner: ${textWithin(winner)}`]),
    ...(typeof consensus === "boolean" ? [consensus ? "all agree" : "not all agree"] : []),
    ...textsOf(reasons),
    ...textsOf(dissent).map((text) => `against it: ${text}`),
    `after ${Number(held)} of ${Number(of)} rounds${why}`,
  ];
  const concluded =
    conclusion === undefined
      ? { title: "No verdict", text: "The debate ended without one." }
      : { title: `Verdict of ${textWithin(judge)}`, text: textWithin(conclusion) };
  return [{ ...concluded, points }, ...listOf(debaters).map((debater) => debaterPart(objectOf(debater)))];
}

const WHY_OVER: Readonly<Record<string, string>> = {
  stable: ", since nobody moved any more",
  one_left: ", since only one was left",
};

/** A debater's last position, with its reasons. */
function debaterPart({ role_id, status, reason, opinion }: JsonObject): ResultPart {
  const { position, reasons } = objectOf(opinion);
  const left = status === "dropped" ? ` (dropped${reason === undefined ? "" : `: ${textWithin(reason)}`})` : "";
  const text = position === undefined ? "It gave no opinion." : textWithin(position);
  return { title: `${textWithin(role_id)}${left}`, text, points: textsOf(reasons) };
}

function textsOf(value: Json | undefined): string[] {
  return listOf(value).map(textWithin);
}
