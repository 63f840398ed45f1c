import { err, ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import { questionsMeant } from "../../protocol/question-ids.ts";
import { permissionChoices } from "../../ui/permission-lines.ts";
import { idOf } from "../../ui/waiting.ts";
import { type Needed, saidAlready } from "../lookup/kept.ts";
import { answerIn, decisionOnPermission } from "./answers.ts";
import { answersMessage, type Decidable, decisionMessage, type PersonMessage } from "./put.ts";

const DECISIONS = ["approved", "changes_requested", "rejected"] as const;
type Decision = (typeof DECISIONS)[number];

/** What a person says about something that a session waits for. */
interface Saying {
  /** The question or the ask; may be left out if there is only one. */
  readonly id: string | undefined;
  readonly answer: string;
  readonly notes: string | undefined;
}

/** The message of what a person says. Fails with `usage` for what is not asked, asked no more, or no answer to it, and says what is allowed. */
export function messageOf(
  session_id: string,
  waiting: readonly Needed[],
  { id, answer, notes }: Saying,
): Fallible<PersonMessage> {
  const [only, another] = waiting;
  if (only === undefined)
    return fails("usage", `The session ${session_id} asks nothing.`, { hint: `See bosun status ${session_id}.` });
  const about = id === undefined ? (another === undefined ? only : undefined) : meantBy(id, waiting);
  if (about === undefined) {
    const what =
      id === undefined ? `${session_id} asks several things.` : `${session_id} does not ask ${JSON.stringify(id)}.`;
    return fails("usage", what, { hint: `Name one of them: ${waiting.map(describe).join("; ")}.` });
  }
  if (about.kept !== undefined) return err(saidAlready(session_id, idOf(about), about.kept));
  switch (about.kind) {
    case "question": {
      const given = answerIn([about], [about.question_id, answer]);
      return given.ok ? ok(answersMessage(given.value)) : given;
    }
    case "permission":
      return decisionOnPermission(session_id, about, [answer, notes ?? ""]);
    default: {
      const decision = DECISIONS.find((word) => word === answer);
      if (decision === undefined)
        return fails("usage", `${JSON.stringify(answer)} is no decision.`, { hint: `Write ${describe(about)}.` });
      return decisionOn(session_id, about, decision, notes);
    }
  }
}

/** The message of a decision on work, on a plan or on a result. Fails with `usage` for one that is not possible. */
export function decisionOn(
  session_id: string,
  about: Decidable,
  decision: Decision,
  words: string | undefined,
): Fallible<PersonMessage> {
  if (decision === "changes_requested" && (words ?? "").trim() === "")
    return fails("usage", "Changes need a text.", { hint: "Say what to change." });
  if (about.kind === "approval") return ok(decisionMessage(about, decision, words));
  const { ticket_id, failed_checks } = about;
  const why =
    decision === "rejected"
      ? `The work on ${ticket_id} can only be approved or sent back.`
      : decision === "approved" && failed_checks !== undefined
        ? `The work on ${ticket_id} cannot be approved: its checks failed.`
        : undefined;
  if (why !== undefined) {
    const back = `bosun review ${session_id} ${ticket_id} --changes "…"`;
    return fails("usage", why, {
      hint: `To send it back: ${back}. To see its log: bosun log ${session_id} ${ticket_id}.`,
    });
  }
  return ok(decisionMessage(about, decision, decision === "approved" ? undefined : words));
}

function meantBy(id: string, waiting: readonly Needed[]): Needed | undefined {
  const [question] = questionsMeant(
    id,
    waiting.filter((one) => one.kind === "question"),
  );
  return question ?? waiting.find((one) => one.kind !== "question" && one.ask_id === id);
}

/** Its id, and what may be said about it. */
function describe(one: Needed): string {
  const words =
    one.kind === "question"
      ? one.options
      : one.kind === "permission"
        ? permissionChoices(one).map(({ key }) => key)
        : DECISIONS;
  return words.length === 0 ? idOf(one) : `${idOf(one)} (${words.join(", ")})`;
}
