import { writeFileSync } from "node:fs";
import { type Command, Option } from "commander";
import { shellWord } from "../lib/shell-word.ts";
import type { JsonObject } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Failure, failure, type Fallible } from "../protocol/failure.ts";
import { safeJson, safeLine } from "../ui/display.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import type { SessionRow, Store } from "../store/store.ts";
import { type ShownPlan, planLines } from "../ui/plan.ts";
import { showWaiting } from "../ui/waiting.ts";
import { localize, tellNext } from "../ui/words.ts";
import type { Action, CommandContext, Exit } from "./context/command.ts";
import { addPagerOption, paged, type PagerOption } from "./context/paged.ts";
import { type Needed, saidAlready } from "./lookup/kept.ts";
import { type DecidedGate, editPlan, settleEdit } from "./interaction/plan-edit.ts";
import { type AfterwardsOptions, putAndResume, RESUME_OPTION } from "./driver/take-up.ts";
import { type Found, openHomeOf, withSession } from "./lookup/homes.ts";
import { exportablePlan, planFileText, planOf, type RecordedPlan, withInstructions } from "./lookup/plan.ts";
import { ANY_SESSION, CHANGE_LAST, SHOW } from "./lookup/resolve.ts";
import { neededOf } from "./lookup/view.ts";

interface PlanOptions extends AfterwardsOptions, PagerOption {
  readonly approve?: boolean;
  readonly allowCommands?: boolean;
  readonly reject?: boolean;
  readonly edit?: boolean;
  readonly revise?: string;
  readonly export?: string;
  readonly notes?: string;
  readonly json?: boolean;
}

/** `bosun plan`: shows a session's plan, or takes a person's decision on it. */
export function register(command: Command): Action<PlanOptions> {
  command
    .argument(...ANY_SESSION)
    .option("--approve", "approve it: the work begins")
    .option("--allow-commands", "with --approve or --edit: allow the check commands that the manager adds later, too")
    .option("--revise <text>", "send it back, saying what to change")
    .option("--reject", "end the session, or continue without a revised plan")
    .option("--edit", "change it in $EDITOR, then approve it")
    .option("--notes <text>", "a note for --approve, --reject or --edit")
    .option(...RESUME_OPTION)
    .option("--no-input", "never ask at this terminal")
    .option("--export <file>", "write it as a plan file that can be run again; - is standard output")
    .addOption(
      new Option("--json", "one JSON value on stdout").conflicts(["approve", "revise", "reject", "edit", "export"]),
    );
  addPagerOption(command);
  return (context, words, options) => {
    const onlyShows = actionsIn(options) === 0 && options.json !== true;
    return paged(context, options, onlyShows, (shown) => plan(shown, words, options));
  };
}

async function plan(context: CommandContext, [named]: readonly string[], options: PlanOptions): Promise<Exit> {
  const wrong = wrongIn(options);
  if (wrong) return err(wrong);
  const isDecided = actionsIn(options) > 0 && options.export === undefined;
  return withSession(openHomeOf, context, named, isDecided ? CHANGE_LAST : SHOW, async (found) => {
    const { home, store, row, session_id } = found;
    // Read before the plan, so that a decision on a plan that is revised meanwhile is refused.
    const { waiting } = await neededOf(store, session_id);
    const shown = planOf(store, session_id);
    if (shown === undefined) return err(refused(row, "has no plan yet"));
    if (options.export !== undefined) return exportPlan(context, found, shown, options.export);
    const gate = waiting.find((one) => one.kind === "approval" && one.about === "plan");
    if (!isDecided) {
      const whole = options.json === true ? ok(shown) : await withInstructions(home, session_id, shown);
      return whole.ok ? ok(show(context, row, whole.value, gate, options)) : whole;
    }
    if (gate === undefined) return err(refused(row, "has no plan that needs a decision"));
    if (gate.kept !== undefined) return err(saidAlready(session_id, "The plan", gate.kept));
    return decide(context, { ...found, shown, ask_id: gate.ask_id }, options);
  });
}

/** Number of options that do more than show the plan. */
function actionsIn({ approve, reject, edit, revise, export: file }: PlanOptions): number {
  return [approve, reject, edit, revise !== undefined, file !== undefined].filter(Boolean).length;
}

/** Fails for options that cannot be combined, or are empty. */
function wrongIn(options: PlanOptions): Failure | undefined {
  const wrong = (message: string, hint: string) => failure("usage", message, { hint });
  const actions = actionsIn(options);
  if (actions > 1) return wrong("--approve, --revise, --reject, --edit and --export cannot be combined.", "Give one.");
  if (options.notes !== undefined && ![options.approve, options.reject, options.edit].includes(true))
    return wrong("--notes goes with --approve, --reject or --edit.", "To send the plan back: --revise TEXT.");
  if (options.allowCommands === true && ![options.approve, options.edit].includes(true))
    return wrong("--allow-commands goes with --approve or --edit.", "To allow some of them: bosun answer.");
  if (options.revise?.trim() === "") return wrong("--revise needs a text.", "Say what to change.");
  return undefined;
}

interface Gate extends DecidedGate {
  readonly store: Store;
  readonly row: SessionRow;
  readonly shown: ShownPlan;
}

async function decide(context: CommandContext, gate: Gate, options: PlanOptions): Promise<Exit> {
  const { row, session_id, ask_id } = gate;
  const approval = await approvalFrom(context, gate, options);
  if (!approval.ok) return approval;
  if (approval.value === undefined) {
    context.terminal.out.line("The plan was not changed, so it was not approved.");
    tellNext(context.terminal.out, `bosun plan ${session_id} --approve`);
    return ok(EXIT_DONE);
  }
  const scope = options.allowCommands === true ? { scope: "session" } : {};
  const payload = { ...approval.value, ...scope, ask_id };
  const put = await putAndResume(context, gate, row, [{ payload_type: "approval", payload }], options);
  if (put.ok) settleEdit(gate, options.edit === true);
  return put;
}

/** The decision; undefined if the person edited nothing. */
async function approvalFrom(
  context: CommandContext,
  gate: Gate,
  options: PlanOptions,
): Promise<Fallible<JsonObject | undefined>> {
  const notes = options.notes === undefined ? {} : { notes: options.notes };
  if (options.approve === true) return ok({ decision: "approved", ...notes });
  if (options.reject === true) return ok({ decision: "rejected", ...notes });
  if (options.edit !== true) return ok({ decision: "changes_requested", notes: options.revise ?? "" });
  const edited = await editPlan(context, gate, gate.shown);
  if (!edited.ok) return edited;
  return ok(edited.value && { decision: "approved", plan: edited.value as unknown as JsonObject, ...notes });
}

function show(
  { terminal: { out } }: CommandContext,
  { session_id }: SessionRow,
  shown: ShownPlan,
  gate: Needed | undefined,
  { json }: PlanOptions,
): number {
  if (json === true) {
    out.line(safeJson({ session_id, waits_for_approval: gate !== undefined, ...shown }));
    return EXIT_DONE;
  }
  for (const line of planLines(shown, out)) out.line(line);
  out.line();
  if (gate === undefined) {
    tellNext(out, `bosun status ${session_id}`);
    return EXIT_DONE;
  }
  showWaiting(out, session_id, gate, gate.kept);
  if (gate.kept === undefined)
    out.line(`      ${localize(out, `bosun plan ${session_id} --revise "…"`)}   or --edit, or --reject`);
  return EXIT_DONE;
}

async function exportPlan(
  { terminal: { out } }: CommandContext,
  { home, store, row }: Found<Store>,
  recorded: RecordedPlan,
  file: string,
): Promise<Exit> {
  const exported = await exportablePlan(store, home, row, recorded);
  if (!exported.ok) return exported;
  const text = await planFileText(file, exported.value);
  if (file === "-") {
    out.stream.write(text);
    return ok(EXIT_DONE);
  }
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    const why = code === "EEXIST" ? "exists already" : `cannot be written (${code})`;
    return fails("usage", `${file} ${why}.`, { hint: "Name another file." });
  }
  out.line(`Wrote ${safeLine(file)}. Run it again: ${localize(out, `bosun run --plan ${shellWord(safeLine(file))}`)}`);
  return ok(EXIT_DONE);
}

function refused({ session_id, state }: SessionRow, why: string): Failure {
  return failure("usage", `${session_id} ${why}; it is ${state}.`, { hint: `See bosun status ${session_id}.` });
}
