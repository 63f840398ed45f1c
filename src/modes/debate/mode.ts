import type { Draft } from "../../kernel/kit/draft.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import type { Question } from "../../kernel/kit/rules.ts";
import type { View } from "../../kernel/kit/state.ts";
import { from } from "../../kernel/references.ts";
import { wrongAt } from "../../kernel/step.ts";
import { defined, type Json } from "../../lib/json.ts";
import { type Debate, debate, type Debater } from "./debate.ts";

type D = Draft<Debate, Debater>;
type V = View<Debate, Debater>;

export const debateMode = modeOf(debate, {
  begin: ({ debaters, judge, rounds, until }, { payload: { roles } }) => ({
    self: {
      judge: { role_id: judge, type: roles.find((role) => role.role_id === judge)?.type ?? "participant" },
      rounds,
      until,
      round: 0,
    },
    subjects: debaters.map((id) => ({ id, opinions: [] })),
  }),
  seat: ({ judge: { role_id, type } }, debater) =>
    debater
      ? { seat: { type: "participant", role_id: debater.id }, message: "requirement" }
      : { seat: { type, role_id }, message: "report" },
  question: (session, debater) => (debater ? toDebater(session) : toJudge(session)),
  goOn: nextRound,
  answered(draft, fact, debater) {
    if (fact.payload_type === "opinion" && debater) {
      const { round } = draft.self;
      if (fact.payload.round !== round)
        return wrongAt(
          "/round",
          `this is round ${round}, not ${fact.payload.round}`,
          "the round is in context.metadata.round",
        );
      draft.move(debater.id, "opinion_given");
      draft.patchSubject(debater.id, {
        opinions: [...debater.opinions, fact.sequence],
        unchanged: fact.payload.changed === false ? true : undefined,
      });
    } else if (fact.payload_type === "verdict") {
      const { winner } = fact.payload;
      if (winner !== undefined && !draft.subject(winner)) {
        const ids = draft.all().map(({ id }) => id);
        const hint = `leave the winner out, or name one of: ${ids.join(", ")}`;
        return wrongAt("/winner", `"${winner}" was not in the debate`, hint);
      }
      draft.patch({ verdict: fact.sequence });
      draft.finish("done");
    }
    return undefined;
  },
  spent: drop,
  drop,
  gaveUp: (draft, code) => draft.finish("failed", code),
  // Not after its answer in the last round.
  canBeTold: ({ self: { argued_by, round, rounds } }, { status }) =>
    argued_by === undefined && (status !== "answered" || round < rounds),
  result: (session) => {
    const { verdict, judge, round, rounds, argued_by } = session.self;
    return {
      ...defined({ verdict: verdict === undefined ? undefined : from(verdict), argued_by }),
      judge: judge.role_id,
      rounds: { held: round, of: rounds },
      debaters: session.all().map(({ id, status, reason, opinions }) => {
        const last = opinions.at(-1);
        return { role_id: id, status, ...defined({ reason, opinion: last === undefined ? undefined : from(last) }) };
      }),
    };
  },
});

/** Asks all debaters in one step, or the judge. They see only the round before, so they answer independently. */
function nextRound(draft: D): void {
  const { phase, round } = draft.self;
  if (phase !== "debating") return;
  const argued_by = arguedBy(draft);
  if (argued_by === undefined) {
    draft.go("round_over");
    draft.patch({ round: round + 1 });
    for (const { id, status } of draft.all()) if (status !== "dropped") draft.offer(id);
  } else {
    draft.go("argued");
    draft.patch({ argued_by });
    draft.offer();
  }
}

function arguedBy(draft: D): Debate["argued_by"] {
  const { round, rounds, until } = draft.self;
  const seated = draft.all().filter(({ status }) => status !== "dropped");
  if (round >= rounds) return "rounds";
  if (until === "stable" && round > 1 && seated.every(({ unchanged }) => unchanged)) return "stable";
  return seated.length === 1 ? "one_left" : undefined;
}

/** Drops a debater for good; its opinions stay. If no debater is left to argue, the debate has failed. */
function drop(draft: D, { id }: Debater, reason: string): void {
  draft.move(id, "dropped", reason);
  const isAnyLeft = draft.all().some(({ status }) => status !== "dropped");
  if (draft.self.argued_by === undefined && !isAnyLeft) draft.finish("failed", "no_debaters_left");
}

/** A debater gets all opinions of the previous round, including its own, and never one of the current round. */
function toDebater(session: V): Question {
  const { opened, round, rounds } = session.self;
  const payload = { text: from(opened, "/input/topic") };
  return { payload, context: { transcript: opinionsOf(session, round - 1), metadata: { round, rounds } } };
}

/** The judge gets the whole debate. */
function toJudge(session: V): Question {
  const { round, rounds } = session.self;
  const sides = session.all().map(({ id, status }) => `${id}${status === "dropped" ? " (dropped out)" : ""}`);
  const summary = `The debate is over after round ${round}. Debaters: ${sides.join(", ")}.`;
  const transcript = Array.from({ length: round }, (_, index) => opinionsOf(session, index + 1)).flat();
  return { payload: { status: "completed", summary }, context: { transcript, metadata: { round, rounds } } };
}

function opinionsOf(session: V, round: number): Json[] {
  return session.all().flatMap(({ id, opinions }): Json[] => {
    const sequence = opinions[round - 1];
    return sequence === undefined ? [] : [{ sequence, source: id, payload_type: "opinion", payload: from(sequence) }];
  });
}
