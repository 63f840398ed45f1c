import { allowAlways } from "../../config/trust.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { StoreReader } from "../../store/store.ts";
import { type Choice, promptChoice } from "../../ui/choices.ts";
import { safeLine, safeText, wrapped, wrappedLines } from "../../ui/display.ts";
import { asListed, ticketTable } from "../../ui/ending.ts";
import {
  type OpenPermission,
  type PermissionChoice,
  permissionChoices,
  permissionDetails,
  permissionSentence,
} from "../../ui/permission-lines.ts";
import { planLines, type ShownPlan } from "../../ui/plan.ts";
import { promptLine } from "../../ui/prompt.ts";
import type { Terminal } from "../../ui/terminal.ts";
import { workDoneLines } from "../../ui/work-done.ts";
import { type Waiting, workLines } from "../../ui/waiting.ts";
import { localize } from "../../ui/words.ts";
import type { CommandContext } from "../context/command.ts";
import { mergedLines } from "../lookup/copies.ts";
import { workLinesOf } from "../lookup/schedule-state.ts";
import { planOf, withInstructions } from "../lookup/plan.ts";
import { readSession } from "../lookup/view.ts";
import type { OpenAsk } from "./interaction.ts";
import { checkableTasks, editPlan, reviewedByChecks, settleEdit } from "./plan-edit.ts";
import { type Decidable, decisionMessage, permissionMessage, type PersonMessage, type Refusal } from "./put.ts";

/** The session that a decision is about, and the terminal where it is asked. */
export interface DecisionParts {
  readonly context: CommandContext;
  readonly home: string;
  readonly session_id: string;
  readonly store: StoreReader;
}

/** What else is needed to ask for a decision on a plan. */
interface PlanParts extends DecisionParts {
  readonly complain: (why: Refusal) => void;
}

/** Asks whether to carry out a plan; false if the person left without an answer. */
export async function askPlan(parts: PlanParts, ask: OpenAsk, signal: AbortSignal): Promise<boolean> {
  const { context, session_id, store, home, complain } = parts;
  const { ask_id } = ask;
  const { terminal } = context;
  const plan = planOf(store, session_id);
  if (plan === undefined) return false;
  const whole = await withInstructions(home, session_id, plan);
  if (!whole.ok) complain(whole.error);
  terminal.err.line();
  for (const line of planLines(whole.ok ? whole.value : plan, terminal.err)) terminal.err.line(line);
  for (;;) {
    const choices = [...(plan.added ? REVISION_CHOICES : PLAN_CHOICES), ...checksChoice(checkableTasks(plan))];
    const choice = await promptChoice(terminal, "Approve this plan?", choices, signal);
    if (choice === undefined) return false;
    const decision = await planDecision(parts, ask_id, plan, choice, signal);
    if (decision === undefined) continue;
    const refused = await ask.say({ payload_type: "approval", payload: { ...decision, ask_id } });
    if (refused !== undefined) continue;
    settleEdit({ store, home, session_id, ask_id }, choice === "edit");
    return true;
  }
}

async function planDecision(
  { context, home, session_id, complain }: PlanParts,
  ask_id: string,
  plan: ShownPlan,
  choice: (typeof PLAN_CHOICES)[number]["key"] | "checks",
  signal: AbortSignal,
): Promise<JsonObject | undefined> {
  switch (choice) {
    case "approve":
      return { decision: "approved" };
    case "allow":
      return { decision: "approved", scope: "session" };
    case "checks":
      return { decision: "approved", plan: reviewedByChecks(plan) };
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
      else complain({ message: `${edited.error.message}\n${localize(context.terminal.err, edited.error.hint ?? "")}` });
      return undefined;
    }
  }
}

/** Shows the tickets and asks whether the result is what was wanted; undefined if the person left without an answer. */
export async function promptResult(
  { context, home, session_id, store }: DecisionParts,
  result: Extract<Waiting, { kind: "approval" }>,
  signal: AbortSignal,
): Promise<PersonMessage | undefined> {
  const { terminal } = context;
  const row = store.session(session_id);
  const view = row.ok ? await readSession(store, home, row.value) : row;
  if (view.ok) {
    const { presentation, tickets } = view.value;
    const done = workDoneLines(tickets.map(asListed), presentation.subjectName, terminal.err);
    for (const line of ["", ...ticketTable(presentation, tickets, terminal.err), ...done]) terminal.err.line(line);
  }
  const changes = await mergedLines(context, { home, session_id, store });
  for (const line of changes === undefined ? [] : ["", ...changes])
    for (const text of wrappedLines(localize(terminal.err, line), terminal.err.width, 2)) terminal.err.line(text);
  const heading = "All tasks are finished. Accept the result?";
  return promptDecision(terminal, result, heading, RESULT_CHOICES, "What is missing? ", signal);
}

/** Asks whether the work on a ticket is good enough; undefined if the person left without an answer. */
export async function promptReview(
  { context: { terminal }, store, session_id }: DecisionParts,
  review: Extract<Waiting, { kind: "review" }>,
  signal: AbortSignal,
): Promise<PersonMessage | undefined> {
  const { ticket_id, summary, failed_checks } = review;
  const { err } = terminal;
  err.line();
  err.line(err.style("bold", `The work on ${ticket_id}:`));
  for (const line of workLinesOf(store, session_id, ticket_id))
    for (const text of wrappedLines(localize(err, line), err.width, 2)) err.line(err.style("dim", text));
  for (const line of [...safeText(summary).split("\n"), ...workLines(review)]) err.line(`  ${line}`);
  for (const failed of failed_checks ?? []) err.line(`  ${err.style("red", "failed")} ${safeLine(failed)}`);
  // Work with failed checks cannot be approved.
  const choices = failed_checks === undefined ? REVIEW_CHOICES : REVIEW_CHOICES.slice(1);
  const heading = `Review of ${ticket_id}`;
  return promptDecision(terminal, review, heading, choices, "What should be different? ", signal);
}

/** Asks the person at the terminal for a decision on a permission; undefined if they left. */
export async function promptPermission(
  { context: { terminal, environment }, store, session_id }: DecisionParts,
  permission: OpenPermission,
  signal: AbortSignal,
): Promise<PersonMessage | undefined> {
  const { err } = terminal;
  const { prefix } = permission;
  err.line();
  for (const detail of permissionDetails(permission, err).slice(0, -1))
    for (const line of wrappedLines(detail, err.width, 2)) err.line(line);
  const heading = permissionSentence(permission);
  const choices: Choice<PermissionChoice | "always">[] = permissionChoices(permission);
  const label = `Always allow it in this project: adds ${safeLine(JSON.stringify(prefix ?? ""))} to allowed_commands in .bosun/`;
  if (prefix !== undefined) choices.splice(-1, 0, { key: "always", label });
  const choice = await promptChoice(terminal, heading, choices, signal);
  if (choice !== "always") return choice && permissionMessage(permission.ask_id, choice);
  const row = store.session(session_id);
  const written = row.ok ? allowAlways(environment, row.value.workspace, prefix ?? "") : row;
  // What is not written counts for the session all the same.
  const said = written.ok ? `Written: ${written.value}` : `${written.error.message} ${written.error.hint ?? ""}`;
  for (const line of wrapped(safeLine(localize(err, said)), err.width, 2)) err.line(line);
  return permissionMessage(permission.ask_id, "allow-prefix");
}

/** Asks for a decision, and for words if it asks for changes; an empty line leads back to the choices. Undefined if the person left. */
async function promptDecision<K extends string>(
  terminal: Terminal,
  about: Decidable,
  heading: string,
  choices: readonly Choice<K>[],
  label: string,
  signal: AbortSignal,
): Promise<PersonMessage | undefined> {
  for (;;) {
    const decision = await promptChoice(terminal, heading, choices, signal);
    if (decision !== "changes_requested") return decision && decisionMessage(about, decision);
    const typed = await promptLine(terminal, label, signal);
    if (typed.kind === "left") return undefined;
    if (typed.text !== "") return decisionMessage(about, decision, typed.text);
  }
}

const PLAN_CHOICES = [
  { key: "approve", label: "Approve" },
  { key: "revise", label: "Send back, saying what should be different" },
  { key: "edit", label: "Edit in $EDITOR, then approve" },
  { key: "reject", label: "Reject, and end the session" },
  { key: "allow", label: "Approve, also the check commands that the manager adds later" },
] as const;

function checksChoice(ids: readonly string[]): Choice<"checks">[] {
  const label = `Approve, with the checks as the only review of ${safeLine(ids.join(", "))}`;
  return ids.length === 0 ? [] : [{ key: "checks", label }];
}

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
