import type { Draft } from "../../kernel/kit/draft.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { seated, seatOf } from "../../kernel/kit/speakers.ts";
import { reaches } from "../../kernel/kit/votes.ts";
import { from, linesOf } from "../../kernel/references.ts";
import { wrongAt } from "../../kernel/step.ts";
import { defined, type Json } from "../../lib/json.ts";
import { type Member, type Panel, panel } from "./panel.ts";

type D = Draft<Panel, Member>;

export const panelMode = modeOf(panel, {
  begin: ({ members, threshold, rounds }, { payload: { roles } }) => ({
    self: { threshold, rounds, round: 0 },
    subjects: members.map((id) => ({ ...seated(id, roles), reviews: [] })),
  }),
  seat: (_self, member) => ({ seat: seatOf(member), message: "requirement" }),
  // Blind at first; then the reasons of all, in an order that says nothing of who they are.
  question(session) {
    const { opened, round, rounds } = session.self;
    const before = session.all().flatMap(({ reviews }) => reviews.slice(round - 2, round - 1));
    const transcript = before.toSorted((a, b) => a - b).map((sequence, index) => anonymous(sequence, index));
    const payload = { text: from(opened, "/input/topic") };
    return { payload, context: { transcript: round > 1 ? transcript : [], metadata: { round, rounds } } };
  },
  goOn(draft) {
    const here = draft.all().filter(({ status }) => status !== "left");
    const { round, rounds } = draft.self;
    if (here.length === 0) return draft.finish("failed", "nobody_left");
    const isSplit = new Set(here.map(({ approves }) => approves)).size > 1;
    if (round > 0 && (!isSplit || round >= rounds)) return decide(draft, here);
    draft.patch({ round: round + 1 });
    for (const { id } of here) draft.offer(id);
  },
  answered(draft, fact, member) {
    if (fact.payload_type !== "review" || !member) return undefined;
    const { decision, requested_changes = [] } = fact.payload;
    const approves = decision === "approved";
    if (!approves && requested_changes.length === 0 && !fact.payload.notes)
      return wrongAt("/requested_changes", "nothing is named that has to change", "name each change, or approve");
    draft.move(member.id, "answered");
    const reviews = [...member.reviews, fact.sequence];
    draft.patchSubject(member.id, { approves, reviews, said: fact.sequence });
    return undefined;
  },
  canBeTold: ({ self: { round, rounds } }, { status }) =>
    status !== "left" && (status !== "answered" || round < rounds),
  result(session) {
    const { threshold, rounds, round, approved } = session.self;
    const all = session.all();
    const voters = all.filter(({ status }) => status !== "left");
    const latest = (member: Member) => member.reviews.at(-1);
    const against = voters.flatMap((member) => (member.approves ? [] : (latest(member) ?? [])));
    return {
      decision: approved ? "approved" : "changes_requested",
      votes: { approved: voters.filter(({ approves }) => approves).length, of: voters.length, rule: threshold },
      rounds: { held: round, of: rounds },
      requested_changes: approved
        ? []
        : against.map((sequence) =>
            linesOf(["Changes:", from(sequence, "/requested_changes")], ["Reasons:", from(sequence, "/notes")]),
          ),
      reviews: all.map((member): Json => {
        const last = latest(member);
        const told = last === undefined ? {} : { decision: from(last, "/decision"), notes: from(last, "/notes") };
        return { role_id: member.id, ...told, ...defined({ reason: member.reason }) };
      }),
    };
  },
});

function decide(draft: D, voters: readonly Member[]): void {
  const approving = voters.filter(({ approves }) => approves).length;
  draft.patch({ approved: reaches(draft.self.threshold, approving, voters.length) });
  draft.finish("done");
}

function anonymous(sequence: number, index: number): Json {
  return { sequence, source: `reviewer_${index + 1}`, payload_type: "review", payload: from(sequence) };
}
