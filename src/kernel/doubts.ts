import { defined, type JsonObject } from "../lib/json.ts";
import { type Failure, failure } from "../protocol/failure.ts";
import { questionsMeant } from "../protocol/question-ids.ts";
import type { Ledger, LedgerTurn } from "./ledger.ts";
import type { Command, EnvelopeDraft, FactOf, Step } from "./mode.ts";
import { NOTHING } from "./step.ts";

/** The id of the question about an in-doubt turn. The ask has the turn's id, so the question is answered as `<turn_id>.again`. */
const QUESTION = "again";

const REPEAT = "repeat";
const GIVE_UP = "give up";
const GIVEN_UP = "The turn was cut short when the scheduler died, and a person gave it up.";

/**
 * Asks a person about turns that a crash cut short and whose roles have `recovery: ask`. Until the answer, such a turn holds no seat and counts no
 * attempt. `next` is the sequence of the first question's record.
 */
export function doubts(
  ledger: Ledger,
  fact: FactOf<"session_recovered">,
  next: number,
): { readonly envelopes: readonly EnvelopeDraft[]; readonly commands: readonly Command[] } {
  const turns = (fact.payload.asked ?? []).flatMap((turn_id) => ledger.turns.get(turn_id) ?? []);
  return {
    envelopes: turns.map(question),
    commands: turns.map(({ turn_id, subject }, index) => ({
      do: "ask",
      ask_id: turn_id,
      kind: "questions",
      record: next + index,
      open: [QUESTION],
      ...defined({ subject }),
    })),
  };
}

function question({ turn_id, role_id = "", subject }: LedgerTurn): EnvelopeDraft {
  const about = subject === undefined ? "" : ` on ${subject}`;
  const asked: JsonObject = {
    question_id: QUESTION,
    text: `The scheduler died while ${role_id} worked${about} (turn ${turn_id}), so that work may be half done. Shall the turn be run again?`,
    why: `The recovery of ${role_id} is "ask". "${GIVE_UP}" makes it a failed turn.`,
    options: [REPEAT, GIVE_UP],
  };
  return {
    target: "user",
    payload_type: "clarification",
    payload: { questions: [asked], status: "open" },
    ...defined({ subject }),
  };
}

/** Returns the step for an answer about in-doubt turns. Undefined for any other answer, which the mode handles. */
export function onDoubtAnswered(ledger: Ledger, fact: FactOf<"clarification_response">): Step | undefined {
  const asked = [...ledger.asks.keys()].filter((ask_id) => ledger.turns.get(ask_id)?.status === "asked");
  if (asked.length === 0) return undefined;
  const { answers, ask_id } = fact.payload;
  const questions = asked.map((turn_id) => ({ ask_id: turn_id, question_id: `${turn_id}.${QUESTION}` }));
  const meant = answers.map(({ question_id }) => {
    // A whole id counts even if the answer names another request.
    const own = questions.filter((one) => [undefined, one.ask_id].includes(ask_id) || one.question_id === question_id);
    const [one, another] = questionsMeant(question_id, own);
    return another === undefined ? one?.ask_id : undefined;
  });
  if (meant.every((turn_id) => turn_id === undefined)) return undefined;
  const commands: Command[] = [];
  for (const [index, answer] of answers.entries()) {
    const turn_id = meant[index];
    const text = answer.text.trim().toLowerCase();
    if (turn_id === undefined) {
      const own = questions.map(({ question_id }) => question_id).join(", ");
      return refused(
        index,
        "question_id",
        "turns in doubt are answered apart from other questions",
        `answer ${own} alone`,
      );
    }
    if (text !== REPEAT && text !== GIVE_UP) {
      const hint = `answer "${REPEAT}" or "${GIVE_UP}"`;
      const said = answer.text.slice(0, 80).toWellFormed();
      return refused(index, "text", `"${said}" does not say whether the turn is run again`, hint);
    }
    commands.push({ do: "clear_ask", ask_id: turn_id });
    if (text === REPEAT) commands.push({ do: "repeat_turn", turn_id });
    else commands.push({ do: "fail_turn", turn_id, code: "cancelled", message: GIVEN_UP });
  }
  return { ...NOTHING, commands };
}

function refused(index: number, field: string, message: string, hint: string): Step {
  const why: Failure = failure("validation_failed", message, {
    hint,
    details: { pointer: `/answers/${index}/${field}` },
  });
  return { ...NOTHING, refused: why };
}
