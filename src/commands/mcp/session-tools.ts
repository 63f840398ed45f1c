import { defined, isJsonObject, type JsonObject, textOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { SessionRow, Store, StoreReader } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import { type OpenHome, withHome } from "../context/home.ts";
import { actorHere } from "../context/program.ts";
import type { BeginOptions } from "../driver/begin.ts";
import { cancelFound } from "../driver/cancelling.ts";
import { takeUpDetached } from "../driver/take-up.ts";
import { type Put, putMessage } from "../interaction/put.ts";
import { messageOf } from "../interaction/saying.ts";
import { openHomeOf, readHomeOf, withSession } from "../lookup/homes.ts";
import { CHANGE, CHANGE_OPEN, resolveSession, SHOW } from "../lookup/resolve.ts";
import { neededOf } from "../lookup/view.ts";
import { readRunInput } from "../options/run-input.ts";
import { sessionList } from "../presenters/session.ts";
import { listed, seenSession, statusObject } from "../presenters/status-object.ts";
import { beginBy } from "./begin.ts";
import { type McpTool, MOST_LISTED, text, wordIn } from "./tool.ts";

const SESSION = text("The session's id, or the beginning of it");

export const SESSION_TOOLS: readonly McpTool[] = [
  {
    name: "session_start",
    description:
      "Begins a session that carries out a requirement or a plan, in a process of its own, and returns at once. It runs agents that change files in the workspace, and costs what they cost. session_status follows it.",
    input: {
      requirement: text("What to do, in words"),
      plan: {
        type: ["object", "string"],
        description: "A plan in place of a manager's: its content, or the path of a plan file",
      },
      crew: text(
        "Who plans and works: codex-claude, claude, codex, opencode, gemini, embedded, or a crew of the project",
      ),
      workspace: text("The folder in which agents work; the current one if left out"),
      ask_plan: { type: "boolean", description: "Whether the plan waits for approval, whatever the settings say" },
      budget_turns: { type: "integer", minimum: 1, description: "Stop after this many turns" },
      deadline: text("Stop after this time, such as 30m or 4h"),
      base: text(
        "The commit from which the tickets' copies of the repository start, such as HEAD, if files have changed since",
      ),
      include_dirty: { type: "boolean", description: "Whether uncommitted changes belong to the copies" },
    },
    kind: "runs",
    run: start,
  },
  {
    name: "session_status",
    description:
      "How a session stands: its state and outcome, its tickets, its open questions (pending_questions) and what a person must decide (pending_decisions). Without a session: the newest sessions.",
    input: { session: SESSION },
    kind: "shows",
    run: (context, { session }) => statusOf(context, wordIn(session)),
  },
  {
    name: "session_answer",
    description:
      "Says what a person decided: answers a question of a session, or decides on its plan, its result, the work on a ticket or a permission. Ask the person first. A session that has stopped goes on.",
    input: {
      session: SESSION,
      id: text("question_id of the question, or ask_id of the decision; may be left out if there is only one"),
      answer: text(
        "To a question its answer, or the number of an option; on a plan, a result or work approved, changes_requested or rejected; on a permission allow, allow-ticket, allow-session, allow-prefix or deny",
      ),
      notes: text("What to change, or words for who made it"),
      resume: { type: "boolean", description: "Whether a session that has stopped goes on; true if left out" },
    },
    required: ["session", "answer"],
    kind: "decides",
    run: answer,
  },
  {
    name: "session_cancel",
    description: "Ends a session, or one ticket of it, for good. What was done stays.",
    input: { session: SESSION, ticket: text("Only this ticket"), reason: text("Why, for the record") },
    required: ["session"],
    kind: "decides",
    run: cancel,
  },
];

async function start(context: CommandContext, given: JsonObject): Promise<Fallible<object>> {
  const { requirement, plan, crew, workspace, ask_plan, budget_turns, deadline, base, include_dirty } = given;
  const options: BeginOptions = defined({
    plan: isJsonObject(plan) ? "-" : wordIn(plan),
    crew: wordIn(crew),
    cwd: wordIn(workspace),
    askPlan: ask_plan === true ? true : undefined,
    budgetTurns: budget_turns === undefined ? undefined : JSON.stringify(budget_turns),
    deadline: wordIn(deadline),
    base: wordIn(base),
    includeDirty: include_dirty === true ? true : undefined,
  });
  const words = wordIn(requirement);
  return beginBy(context, options, isJsonObject(plan) ? plan : undefined, (told, runOptions) =>
    readRunInput(told, words, options, runOptions),
  );
}

async function statusOf(context: CommandContext, named: string | undefined): Promise<Fallible<object>> {
  const opened = await readHomeOf(context, named);
  if (named === undefined && !opened.ok && opened.error.code === "not_found") return ok({ sessions: [] });
  return withHome(opened, (home) => (named === undefined ? listOf(home) : statusIn(context, home, named)));
}

async function listOf({ store }: OpenHome<StoreReader>): Promise<Fallible<object>> {
  const all = sessionList(store, true);
  const shown = all.slice(0, MOST_LISTED).map(({ row, owner }) => listed(row, owner));
  return ok({ sessions: shown, left_out: all.length - shown.length });
}

async function statusIn(
  context: CommandContext,
  { home, store }: OpenHome<StoreReader>,
  named: string,
): Promise<Fallible<object>> {
  const row = resolveSession(store, named, SHOW);
  const seen = row.ok ? await seenSession(context, { home, store }, row.value) : row;
  return seen.ok ? ok(statusObject(store, home, seen.value)) : seen;
}

async function answer(context: CommandContext, given: JsonObject): Promise<Fallible<object>> {
  const saying = { id: wordIn(given.id), answer: textOf(given.answer), notes: wordIn(given.notes) };
  return withSession(openHomeOf, context, textOf(given.session), CHANGE, async (found) => {
    const { store, row, session_id } = found;
    const { waiting } = await neededOf(store, session_id);
    const message = messageOf(session_id, waiting, saying);
    if (!message.ok) return message;
    const put = await putMessage(store, row, message.value, actor());
    if (!put.ok || put.value.took !== "waits" || given.resume === false) return put.ok ? ok(tookOf(put.value)) : put;
    return goOn(context, found, row);
  });
}

/** Resumes a stopped session, or the parent of a stopped child. */
async function goOn(context: CommandContext, home: OpenHome<Store>, row: SessionRow): Promise<Fallible<object>> {
  const stopped = home.store.session(row.parent ?? row.session_id);
  if (!stopped.ok) return stopped;
  const resumed = await takeUpDetached(context, home, stopped.value);
  return resumed.ok ? ok({ session_id: row.session_id, took: "resumed", resumed: resumed.value }) : resumed;
}

async function cancel(context: CommandContext, { session, ticket, reason }: JsonObject): Promise<Fallible<object>> {
  const ticket_id = wordIn(ticket);
  const typed = { words: ticket_id === undefined ? [] : [ticket_id], session: textOf(session), command: "cancel" };
  return withSession(openHomeOf, context, typed, CHANGE_OPEN, async (found) => {
    const cancelled = await cancelFound(context, found, wordIn(reason), "silent", actor());
    if (!cancelled.ok) return cancelled;
    const { value } = cancelled;
    return ok(typeof value === "number" ? { session_id: found.session_id, took: "closed" } : tookOf(value));
  });
}

/** What became of a message: `taken` by the session, `waits` until it is resumed, or `late`: its scheduler has not answered yet. */
function tookOf({ session_id, took }: Put): object {
  return { session_id, took };
}

/** Who speaks by a tool: this user, by a client. */
function actor() {
  return { ...actorHere(), via: "mcp" };
}
