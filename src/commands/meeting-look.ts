import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { OWN } from "../lib/files.ts";
import { type JsonObject, listOf, objectOf, textOf } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { attempt } from "../log/attempt.ts";
import { fails } from "../protocol/failure.ts";
import { EXIT_DONE } from "../runtime/exit.ts";
import { ARCHIVED, jsonIn, manifestIn } from "../runtime/mailbox-folder.ts";
import { subscribe } from "../runtime/subscribe.ts";
import { systemClock } from "../runtime/time/clock.ts";
import { clipped, safeJson, safeLine } from "../ui/display.ts";
import type { Output } from "../ui/terminal.ts";
import type { Action, CommandContext, Exit, Register } from "./context/command.ts";
import { homeOf, otherHomes } from "./context/home.ts";
import { actorHere } from "./context/program.ts";
import { watchSignals } from "./context/signals.ts";
import { type Found, readHomeOf, withSession } from "./lookup/homes.ts";
import { type Filter, mailboxOf, manifestsIn, messagesIn, rewriteMailbox } from "./lookup/mailbox.ts";
import { SHOW } from "./lookup/resolve.ts";
import type { StoreReader } from "../store/store.ts";

interface Options extends Filter {
  readonly json?: boolean;
  readonly all?: boolean;
  readonly as?: string;
}

/** What a command that only reads shows of one meeting. */
type Look = (found: Found<StoreReader>, directory: string, out: Output, options: Options) => Promise<Exit> | Exit;

const LOOKS: Readonly<
  Record<string, { readonly look: Look; readonly flags?: readonly (readonly [string, string])[] }>
> = {
  info: { look: info },
  read: {
    look: read,
    flags: [
      ["--type <type>", "only messages of this type"],
      ["--agent <id>", "only messages of this participant"],
      ["--since <when>", "only later ones than this message_id or time"],
    ],
  },
  archive: { look: archive },
};

/** The command that shows something of meetings. */
export function registerOf(name: string): Register {
  return (command) => {
    command.option(
      "--json",
      name === "read" || name === "tail" ? "one JSON object a line" : "one JSON value on stdout",
    );
    if (name === "list")
      return (command.option("--all", "closed ones too").option("--as <id>", "those of one participant"),
      list) as Action<never>;
    command.argument("<meeting>", "its id, or the beginning of it");
    if (name === "tail") return tail as Action<never>;
    const { look, flags = [] } = LOOKS[name] ?? { look: info };
    for (const [flag, description] of flags) command.option(flag, description);
    return (async (context, [named], options) =>
      withMailbox(context, named, (found, directory) =>
        look(found, directory, context.terminal.out, options),
      )) satisfies Action<Options> as Action<never>;
  };
}

function withMailbox(
  context: CommandContext,
  named: string | undefined,
  work: (found: Found<StoreReader>, directory: string) => Promise<Exit> | Exit,
): Promise<Exit> {
  return withSession(readHomeOf, context, named, SHOW, async (found) => {
    const directory = mailboxOf(found.home, found.row);
    return directory.ok ? work(found, directory.value) : directory;
  });
}

/** Lists the meetings of all homes of this user, that of the current directory first. */
async function list(context: CommandContext, _: readonly string[], { json, all, as }: Options): Promise<Exit> {
  const here = homeOf(context);
  if (!here.ok) return here;
  const { out } = context.terminal;
  const homes = [here.value, ...otherHomes(context, here.value)];
  const found = homes.flatMap((home) => manifestsIn(home).map((manifest): JsonObject => ({ ...manifest, home })));
  const isOver = ({ state }: JsonObject) => state === "closed" || state === "archived";
  const wanted = found.filter(
    (one) => (all || !isOver(one)) && (as === undefined || listOf(one["participants"]).includes(as)),
  );
  if (json) out.line(safeJson(wanted));
  else if (wanted.length === 0) out.line(`There is no ${all ? "" : "open "}meeting.`);
  if (!json)
    for (const { meeting_id, state, topic, participants } of wanted)
      out.line(
        safeLine(
          `${textOf(meeting_id)}  ${textOf(state)}  ${listOf(participants).length} take part  ${clipped(textOf(topic), 60)}`,
        ),
      );
  return ok(EXIT_DONE);
}

function info(_: Found<StoreReader>, directory: string, out: Output, { json }: Options): Exit {
  const manifest = manifestIn(directory);
  if (!manifest)
    return fails("not_found", `There is no manifest in ${directory}.`, { hint: "bosun rebuild writes it again." });
  const members = listOf(jsonIn(join(directory, "participants.json"))?.["participants"]).map(objectOf);
  if (json) return (out.line(safeJson({ ...manifest, participants: members, directory })), ok(EXIT_DONE));
  const { meeting_id, topic, goal, state, creator, facilitator = creator, protocol, proposals } = manifest;
  out.line(safeLine(`${textOf(meeting_id)} is in ${textOf(state)}; ${textOf(facilitator)} leads`));
  out.line(safeLine(textOf(topic)));
  if (goal !== undefined) out.line(safeLine(`goal  ${textOf(goal)}`));
  out.line(safeLine(`rule  ${textOf(objectOf(protocol)["rule"])}`));
  for (const one of listOf(proposals).map(objectOf))
    out.line(safeLine(`${textOf(one["proposal_id"])}  ${textOf(one["status"])}  ${textOf(one["title"])}`));
  for (const { agent_id, status, role } of members)
    out.line(safeLine(`${textOf(agent_id)}  ${textOf(status)}${role === undefined ? "" : "  takes turns"}`));
  out.line(safeLine(`files ${directory}`));
  return ok(EXIT_DONE);
}

function read(_: Found<StoreReader>, directory: string, out: Output, { json, ...filter }: Options): Exit {
  for (const message of messagesIn(directory, filter)) out.line(json ? safeJson(message) : messageLine(message));
  return ok(EXIT_DONE);
}

/** A message in one line: when, who, what, and its first text. */
function messageLine({ message_id, timestamp_utc, agent_id, message_type, ...said }: JsonObject): string {
  const { proposal_id, vote, new_state, status, text, title, summary_text, reason, message, rationale } = said;
  const words = [proposal_id, vote, new_state, status, title, text ?? summary_text ?? reason ?? message ?? rationale];
  const shown = words.flatMap((word) => (typeof word === "string" ? [word] : [])).join("  ");
  return safeLine(
    `${textOf(message_id)}  ${textOf(timestamp_utc)}  ${textOf(agent_id)}  ${textOf(message_type)}  ${shown}`,
  );
}

async function tail(context: CommandContext, [named]: readonly string[], { json }: Options): Promise<Exit> {
  return withMailbox(context, named, async ({ home, session_id }) => {
    const { out } = context.terminal;
    const over = new AbortController();
    const signals = watchSignals({ stop: () => over.abort(), kill: () => {} }, context.leave);
    try {
      for await (const event of subscribe(home, session_id, 1, over.signal)) {
        const { event: name, timestamp_utc, agent_id, ...more } = event;
        const shown = Object.values(more).flatMap((value) =>
          typeof value === "string" && value !== session_id ? [value] : [],
        );
        out.line(json ? safeJson(event) : safeLine([timestamp_utc, name, agent_id, ...shown].join("  ")));
      }
      return ok(signals.exitCode() ?? EXIT_DONE);
    } finally {
      signals.restore();
    }
  });
}

/** Puts a closed meeting aside: a mark in its mailbox, from which `archived` follows wherever its state is shown. */
async function archive(
  { home, store, row, session_id }: Found<StoreReader>,
  directory: string,
  out: Output,
  { json }: Options,
): Promise<Exit> {
  if (row.state !== "closed")
    return fails("usage", `${session_id} is not closed.`, { hint: `bosun meeting close ${session_id} --summary "…"` });
  const mark = { archived_at: systemClock.now(), by: actorHere().user };
  const marked = attempt(
    directory,
    () => ok(writeFileSync(join(directory, ARCHIVED), `${JSON.stringify(mark)}\n`, OWN)),
    "The mailbox",
  );
  if (!marked.ok) return err(marked.error);
  const written = await rewriteMailbox({ home, store }, row);
  if (!written.ok) return written;
  out.line(json ? safeJson({ meeting_id: session_id, state: "archived" }) : `${session_id} is archived.`);
  return ok(EXIT_DONE);
}
