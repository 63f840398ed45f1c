import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { OWN } from "../lib/files.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../lib/json.ts";
import { ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { ARCHIVED } from "../runtime/mailbox-folder.ts";
import { subscribe } from "../runtime/subscribe.ts";
import { systemClock } from "../runtime/time/clock.ts";
import { clipped, safeJson, safeLine } from "../ui/display.ts";
import type { Output } from "../ui/terminal.ts";
import type { CommandContext, Exit, Register } from "./context/command.ts";
import { actorHere } from "./context/program.ts";
import { watchSignals } from "./context/signals.ts";
import { type Found, readHomeOf, withSession } from "./lookup/homes.ts";
import { aboutMailbox, type Filter, mailboxOf, manifestsOf, messagesIn, rewriteMailbox } from "./lookup/mailbox.ts";
import { SHOW } from "./lookup/resolve.ts";
import type { StoreReader } from "../store/store.ts";

interface Options extends Filter {
  readonly json?: boolean;
  readonly all?: boolean;
  readonly as?: string;
}

/** A meeting, with the folder of its mailbox. */
interface Seen extends Found<StoreReader> {
  readonly directory: string;
}

interface Row {
  /** What it shows of one meeting; `list` shows all. */
  readonly look?: (context: CommandContext, seen: Seen, options: Options) => Promise<Exit> | Exit;
  readonly flags?: readonly (readonly [flags: string, description: string])[];
  readonly json: string;
}

const VALUE = "one JSON value on stdout";
const LINES = "one JSON object a line on stdout";

const ROWS: Readonly<Record<string, Row>> = {
  list: {
    json: LINES,
    flags: [
      ["--all", "closed ones too"],
      ["--as <id>", "those of one participant"],
    ],
  },
  info: { json: VALUE, look: info },
  read: {
    json: LINES,
    look: read,
    flags: [
      ["--type <type>", "only messages of this type"],
      ["--agent <id>", "only messages of this participant"],
      ["--since <when>", "only later ones than this message_id or time"],
    ],
  },
  tail: { json: LINES, look: tail },
  archive: { json: VALUE, look: archive },
};

/** The command that shows something of meetings. */
export function registerOf(name: string): Register {
  const row = ROWS[name];
  if (row === undefined) throw new Error(`there is no command meeting ${name}`);
  const { look, flags = [], json } = row;
  return (command) => {
    if (look) command.argument("<meeting>", "its id, or the beginning of it");
    for (const [flag, description] of flags) command.option(flag, description);
    command.option("--json", json);
    return (context, [named], options: Options) =>
      look ? lookAt(context, named, options, look) : list(context, options);
  };
}

function lookAt(
  context: CommandContext,
  named: string | undefined,
  options: Options,
  look: NonNullable<Row["look"]>,
): Promise<Exit> {
  return withSession(readHomeOf, context, named, SHOW, async (found) => {
    const directory = mailboxOf(found.home, found.row);
    return directory.ok ? look(context, { ...found, directory: directory.value }, options) : directory;
  });
}

/** Lists the meetings of all homes of this user, that of the current directory first. */
async function list(context: CommandContext, { json, all = false, as }: Options): Promise<Exit> {
  const found = manifestsOf(context, { all, as });
  if (!found.ok) return found;
  const { out } = context.terminal;
  const wanted = found.value;
  for (const one of wanted) out.line(json ? safeJson(one) : listLine(one));
  if (wanted.length === 0 && !json) out.line(`There is no ${all ? "" : "open "}meeting.`);
  return ok(EXIT_DONE);
}

function listLine({ meeting_id, state, topic, participants }: JsonObject): string {
  const about = `${listOf(participants).length} take part  ${clipped(textOf(topic), 60)}`;
  return safeLine(`${textOf(meeting_id)}  ${textOf(state)}  ${about}`);
}

function info({ terminal: { out } }: CommandContext, { directory }: Seen, { json }: Options): Exit {
  const about = aboutMailbox(directory);
  if (!about.ok) return about;
  if (json) out.line(safeJson(about.value));
  else showInfo(out, about.value);
  return ok(EXIT_DONE);
}

function showInfo(out: Output, about: JsonObject): void {
  const { meeting_id, topic, goal, state, creator, facilitator = creator, protocol, proposals } = about;
  const participants = listOf(about.participants).map(objectOf);
  const lines = [
    `${textOf(meeting_id)} is in ${textOf(state)}; ${textOf(facilitator)} leads`,
    textOf(topic),
    ...(goal === undefined ? [] : [`goal   ${textOf(goal)}`]),
    `rule   ${textOf(objectOf(protocol)["rule"])}`,
    ...listOf(proposals)
      .map(objectOf)
      .map(({ proposal_id, status, title }) => `${textOf(proposal_id)}     ${textOf(status)}  ${textOf(title)}`),
    ...participants.map(
      ({ agent_id, status, role }) =>
        `${textOf(agent_id)}  ${textOf(status)}${role === undefined ? "" : "  takes turns"}`,
    ),
    `files  ${textOf(about.directory)}`,
  ];
  for (const line of lines) out.line(safeLine(line));
}

function read({ terminal: { out } }: CommandContext, { directory }: Seen, { json, ...filter }: Options): Exit {
  for (const message of messagesIn(directory, filter)) out.line(json ? safeJson(message) : messageLine(message));
  return ok(EXIT_DONE);
}

/** A message in one line: when, who, what, and its first text. */
function messageLine({ message_id, timestamp_utc, agent_id, message_type, ...said }: JsonObject): string {
  const { proposal_id, vote, new_state, status, title } = said;
  const { text, summary_text, reason, message, rationale } = said;
  const words = [proposal_id, vote, new_state, status, title, text ?? summary_text ?? reason ?? message ?? rationale];
  return lineOf([message_id, timestamp_utc, agent_id, message_type, ...words]);
}

function lineOf(words: readonly unknown[]): string {
  return safeLine(words.flatMap((word) => (typeof word === "string" ? [word] : [])).join("  "));
}

async function tail({ terminal, leave }: CommandContext, { home, session_id }: Seen, { json }: Options): Promise<Exit> {
  const over = new AbortController();
  const signals = watchSignals({ stop: () => over.abort(), kill: () => {} }, leave);
  try {
    for await (const event of subscribe(home, session_id, 1, over.signal)) {
      const { event: name, timestamp_utc, agent_id, meeting_id: _, ...more } = event;
      terminal.out.line(json ? safeJson(event) : lineOf([timestamp_utc, name, agent_id, ...Object.values(more)]));
    }
    return ok(signals.exitCode() ?? EXIT_DONE);
  } finally {
    signals.restore();
  }
}

/** Puts a closed meeting aside: a mark in its mailbox, from which `archived` follows wherever its state is shown. */
async function archive({ terminal }: CommandContext, seen: Seen, { json }: Options): Promise<Exit> {
  const { row, session_id, directory } = seen;
  if (row.state !== "closed")
    return fails("usage", `${session_id} is not closed.`, { hint: `bosun meeting close ${session_id} --summary "…"` });
  const mark = `${JSON.stringify({ archived_at: systemClock.now(), by: actorHere().user })}\n`;
  const marked = attempt(directory, () => ok(writeFileSync(join(directory, ARCHIVED), mark, OWN)), "The mailbox");
  if (!marked.ok) return marked;
  const written = await rewriteMailbox(seen, row);
  if (!written.ok) return written;
  const shown = { meeting_id: session_id, state: "archived" };
  terminal.out.line(json ? safeJson(shown) : `${session_id} is archived.`);
  return ok(EXIT_DONE);
}
