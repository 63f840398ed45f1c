import type { JsonObject } from "../../lib/json.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeLine, safeText } from "../../ui/display.ts";
import { planLines, type ShownPlan } from "../../ui/plan.ts";
import { type Choice, promptChoice, promptLine } from "../../ui/prompt.ts";
import type { Terminal } from "../../ui/terminal.ts";
import { type Waiting, workLines } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { planOf } from "../lookup/plan.ts";
import { editPlan, settleEdit } from "./plan-edit.ts";
import type { Refusal, PersonMessage } from "./person-message.ts";

/** What asking a person for a decision needs of the session, whichever process runs it. */
export interface DecidingParts {
  readonly context: CommandContext;
  readonly home: string;
  readonly session_id: string;
  readonly store: StoreReader;
  /** Puts a person's word about an ask to the session. Comes back when it is on record, with why it does not stand if it does not. */
  readonly say: (word: PersonMessage, ask_id: string) => Promise<Refusal | undefined>;
  /** Says at the terminal what is wrong. */
  readonly complain: (why: Refusal) => void;
}

/** Whether a plan is to be carried out; false if the person left without a word. */
export async function askPlan(parts: DecidingParts, ask_id: string, signal: AbortSignal): Promise<boolean> {
  const { context, session_id, store } = parts;
  const { terminal } = context;
  const plan = planOf(store, session_id);
  if (plan === undefined) return false;
  terminal.err.line();
  for (const line of planLines(plan, terminal.err)) terminal.err.line(line);
  terminal.err.line();
  for (;;) {
    const choice = await promptChoice(terminal, plan.added ? REVISION_CHOICES : PLAN_CHOICES, signal);
    if (choice === undefined) return false;
    const word = await planWord(parts, ask_id, plan, choice, signal);
    if (word === undefined) continue;
    const refused = await parts.say({ payload_type: "approval", payload: { ...word, ask_id } }, ask_id);
    settleEdit({ ...parts, ask_id }, choice === "edit", refused);
    if (refused === undefined) return true;
  }
}

async function planWord(
  { context, home, session_id, complain }: DecidingParts,
  ask_id: string,
  plan: ShownPlan,
  choice: (typeof PLAN_CHOICES)[number]["key"],
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  switch (choice) {
    case "approve":
      return { decision: "approved" };
    case "reject":
      return { decision: "rejected" };
    case "revise": {
      const typed = await promptLine(context.terminal, "What should be different? ", signal);
      return typed.kind === "left" || typed.text === ""
        ? undefined
        : { decision: "changes_requested", notes: typed.text };
    }
    case "edit": {
      const edited = await editPlan(context, { home, session_id, ask_id }, plan);
      if (edited.ok && edited.value) return { decision: "approved", plan: edited.value as unknown as JsonObject };
      if (edited.ok) complain({ message: "Nothing was changed, so nothing was approved." });
      // What is wrong inside a file takes lines of its own.
      else complain({ message: `${edited.error.message}\n${localize(context.terminal.err, edited.error.hint ?? "")}` });
      return undefined;
    }
  }
}

/** Whether what was done is what was wanted; false if the person left without a word. */
export async function askResult(parts: DecidingParts, ask_id: string, signal: AbortSignal): Promise<boolean> {
  const { terminal } = parts.context;
  terminal.err.line();
  terminal.err.line(terminal.err.style("bold", "Everything is done that can be done. Is the result what you wanted?"));
  const said = await promptDecision(terminal, RESULT_CHOICES, "What is missing? ", signal);
  if (said === undefined) return false;
  const notes = said.words === undefined ? {} : { notes: said.words };
  await parts.say({ payload_type: "approval", payload: { decision: said.decision, ask_id, ...notes } }, ask_id);
  return true;
}

/** Whether one ticket's work is good enough; false if the person left without a word. */
export async function askReview(
  parts: DecidingParts,
  review: Extract<Waiting, { kind: "review" }>,
  signal: AbortSignal,
): Promise<boolean> {
  const { ask_id, ticket_id, summary, failed_checks } = review;
  const { terminal } = parts.context;
  terminal.err.line();
  terminal.err.line(terminal.err.style("bold", `Review of ${ticket_id}`));
  for (const line of [...safeText(summary).split("\n"), ...workLines(review)]) terminal.err.line(`  ${line}`);
  for (const failed of failed_checks ?? [])
    terminal.err.line(`  ${terminal.err.style("red", "failed")} ${safeLine(failed)}`);
  // Against failed checks nothing is approved.
  const choices = failed_checks === undefined ? REVIEW_CHOICES : REVIEW_CHOICES.slice(1);
  const said = await promptDecision(terminal, choices, "What should be different? ", signal);
  if (said === undefined) return false;
  const requested = said.words === undefined ? {} : { requested_changes: [said.words] };
  const payload = { decision: said.decision, ticket_id, ...requested };
  await parts.say({ payload_type: "review", payload }, ask_id);
  return true;
}

/** A decision, with words if it asks for changes; an empty line leads back to the choices. Undefined if the person left. */
async function promptDecision<K extends string>(
  terminal: Terminal,
  choices: readonly Choice<K>[],
  label: string,
  signal: AbortSignal,
): Promise<{ readonly decision: K; readonly words?: string } | undefined> {
  for (;;) {
    const decision = await promptChoice(terminal, choices, signal);
    if (decision !== "changes_requested") return decision && { decision };
    const typed = await promptLine(terminal, label, signal);
    if (typed.kind === "left") return undefined;
    if (typed.text !== "") return { decision, words: typed.text };
  }
}

const PLAN_CHOICES = [
  { key: "approve", label: "Approve" },
  { key: "revise", label: "Send back, saying what should be different" },
  { key: "edit", label: "Edit in $EDITOR, then approve" },
  { key: "reject", label: "Reject, and end the session" },
] as const;

const REVISION_CHOICES = PLAN_CHOICES.map((choice) =>
  choice.key === "reject" ? { ...choice, label: "Reject, and go on without it" } : choice,
);

const RESULT_CHOICES = [
  { key: "approved", label: "Yes, accept it" },
  { key: "changes_requested", label: "No, something is missing" },
  { key: "rejected", label: "No, it has failed" },
] as const;

const REVIEW_CHOICES = [
  { key: "approved", label: "Approve" },
  { key: "changes_requested", label: "Ask for changes" },
] as const;
