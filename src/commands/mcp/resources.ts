import { ok } from "../../lib/result.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { SessionRow, StoreReader } from "../../store/store.ts";
import { markdownReport } from "../../ui/report/markdown.ts";
import type { CommandContext } from "../context/command.ts";
import { withHome } from "../context/home.ts";
import { type Found, readHomeOf, withSession } from "../lookup/homes.ts";
import { logOf } from "../lookup/log-source.ts";
import { SHOW } from "../lookup/resolve.ts";
import { gatherReport } from "../presenters/gathered-report.ts";
import { sessionList } from "../presenters/session.ts";
import { seenSession, statusObject } from "../presenters/status-object.ts";
import { MOST_LISTED } from "./tool.ts";

const JSON_TYPE = "application/json";
const MARKDOWN_TYPE = "text/markdown";

const SESSION = "bosun://sessions/{session}";

export const RESOURCE_TEMPLATES = [
  { uriTemplate: SESSION, name: "session", description: "What session_status tells", mimeType: JSON_TYPE },
  { uriTemplate: `${SESSION}/tickets/{ticket}`, name: "ticket", description: "One ticket of it", mimeType: JSON_TYPE },
  { uriTemplate: `${SESSION}/report`, name: "report", description: "What it did", mimeType: MARKDOWN_TYPE },
];

const ADDRESS = /^bosun:\/\/sessions\/([\w.-]+)(?:\/(report)|\/tickets\/([\w.-]+))?$/;

interface Contents {
  readonly uri: string;
  readonly mimeType: string;
  readonly text: string;
}

export async function listResources(context: CommandContext) {
  const opened = await readHomeOf(context, undefined);
  if (!opened.ok && opened.error.code === "not_found") return ok([]);
  return withHome(opened, async ({ store }) =>
    ok(
      sessionList(store, false)
        .slice(0, MOST_LISTED)
        .flatMap(({ row }) => resourcesOf(row)),
    ),
  );
}

function resourcesOf({ session_id, state, requirement }: SessionRow) {
  const uri = `bosun://sessions/${session_id}`;
  const session = { uri, name: session_id, title: requirement ?? session_id, mimeType: JSON_TYPE };
  const report = { uri: `${uri}/report`, name: `${session_id} report`, mimeType: MARKDOWN_TYPE };
  return state === "closed" ? [session, report] : [session];
}

/** The contents of a resource. Fails with `not_found`, and says which there are. */
export async function readResource(context: CommandContext, uri: string): Promise<Fallible<Contents>> {
  const [, session, report, ticket] = ADDRESS.exec(uri) ?? [];
  if (session === undefined) {
    const hint = `The resources are ${RESOURCE_TEMPLATES.map(({ uriTemplate }) => uriTemplate).join(", ")}.`;
    return fails("not_found", `There is no resource ${JSON.stringify(uri)}.`, { hint });
  }
  return withSession(readHomeOf, context, session, SHOW, (found) =>
    report === undefined ? stateIn(context, found, uri, ticket) : reportOf(found, uri),
  );
}

async function stateIn(
  context: CommandContext,
  found: Found<StoreReader>,
  uri: string,
  ticket: string | undefined,
): Promise<Fallible<Contents>> {
  const { home, store, row, session_id } = found;
  const seen = await seenSession(context, found, row);
  if (!seen.ok) return seen;
  const status = statusObject(store, home, seen.value);
  const shown = ticket === undefined ? status : status.tickets.find(({ ticket_id }) => ticket_id === ticket);
  if (shown !== undefined) return ok({ uri, mimeType: JSON_TYPE, text: JSON.stringify(shown) });
  const known = status.tickets.map(({ ticket_id }) => ticket_id).join(", ");
  return fails("not_found", `${session_id} has no ${JSON.stringify(ticket)}.`, { hint: `It has ${known || "none"}.` });
}

async function reportOf({ home, store, row }: Found<StoreReader>, uri: string): Promise<Fallible<Contents>> {
  const report = await gatherReport(logOf(home, store, row));
  return report.ok ? ok({ uri, mimeType: MARKDOWN_TYPE, text: [...markdownReport(report.value)].join("") }) : report;
}
