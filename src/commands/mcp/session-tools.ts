import { ok } from "../../lib/result.ts";
import { textOf } from "../../lib/json.ts";
import type { Fallible } from "../../protocol/failure.ts";
import type { StoreReader } from "../../store/store.ts";
import type { CommandContext } from "../context/command.ts";
import { type OpenHome, withHome } from "../context/home.ts";
import { readHomeOf } from "../lookup/homes.ts";
import { resolveSession, SHOW } from "../lookup/resolve.ts";
import { sessionList } from "../presenters/session.ts";
import { listed, seenSession, statusObject } from "../presenters/status-object.ts";
import type { McpTool } from "./tool.ts";

/** A list is for choosing from; the newest are first. */
const MOST_LISTED = 50;

const SESSION = { type: "string", minLength: 1, description: "The session's id, or the beginning of it" };

export const SESSION_TOOLS: readonly McpTool[] = [
  {
    name: "session_status",
    title: "Status of a session",
    description:
      "How a session stands: its state and outcome, its tickets, its open questions (pending_questions) and what a person must decide (pending_decisions). Without a session: the newest sessions.",
    input: { session: SESSION },
    kind: "shows",
    run: (context, { session }) => statusOf(context, session === undefined ? undefined : textOf(session)),
  },
];

async function statusOf(context: CommandContext, named: string | undefined): Promise<Fallible<object>> {
  const opened = await readHomeOf(context, named);
  if (named === undefined && !opened.ok && opened.error.code === "not_found") return ok({ sessions: [] });
  return withHome(opened, (home) => (named === undefined ? listOf(home) : statusIn(home, named)));
}

async function listOf({ store }: OpenHome<StoreReader>): Promise<Fallible<object>> {
  const all = sessionList(store, true);
  const shown = all.slice(0, MOST_LISTED).map(({ row, owner }) => listed(row, owner));
  return ok({ sessions: shown, left_out: all.length - shown.length });
}

async function statusIn({ home, store }: OpenHome<StoreReader>, named: string): Promise<Fallible<object>> {
  const row = resolveSession(store, named, SHOW);
  const seen = row.ok ? await seenSession(store, home, row.value) : row;
  return seen.ok ? ok(statusObject(store, home, seen.value)) : seen;
}
