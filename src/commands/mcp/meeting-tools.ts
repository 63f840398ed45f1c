import { Option } from "commander";
import { digestOf } from "../../kernel/mailbox.ts";
import { defined, type Json, type JsonObject, textOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { type AnyDescriptor, DESCRIPTORS } from "../../modes/index.ts";
import { fails, type Fallible } from "../../protocol/failure.ts";
import type { CommandContext } from "../context/command.ts";
import type { BeginOptions } from "../driver/begin.ts";
import { taken, TOKEN_VARIABLE, whoActs } from "../driver/act.ts";
import { type Act, ACTS, messageOfAct } from "../driver/acts.ts";
import { readHomeOf, withSession } from "../lookup/homes.ts";
import { aboutMailbox, mailboxOf, manifestsOf, messagesIn } from "../lookup/mailbox.ts";
import { SHOW } from "../lookup/resolve.ts";
import { readModeInput } from "../options/mode-input.ts";
import { beginBy } from "./begin.ts";
import { type McpTool, MOST_LISTED, text, wordIn } from "./tool.ts";

/** The most messages of one answer. */
const MOST_READ = 200;

const MEETING = text("The meeting's id, or the beginning of it");

/** What the words of acts stand for. */
const WORDS: Readonly<Record<string, string>> = {
  id: "Whom, by an id of letters, digits and . _ -",
  proposal: "The proposal's id, such as p1",
  vote: "yes, no or abstain; a later vote takes the place of an earlier one",
  state: "discussion or voting",
};

const PURPOSES: Readonly<Record<string, string>> = {
  invite: "Invites somebody to a meeting. Whoever leads it may.",
  join: "Takes part in a meeting to which you are invited. Your id is that of your token, and no argument.",
  leave: "Takes part no more. Your votes of a vote that goes on are void.",
  post: "Says something in a meeting, or adds a point to its agenda.",
  propose: "Proposes something that the meeting votes on, or takes a proposal of yours back.",
  vote: "Votes on a proposal while the meeting is voting.",
  state: "Lets a meeting discuss or vote. Whoever leads it may.",
  close: "Closes a meeting with a summary of what came out of it. Whoever leads it may.",
};

export const MEETING_TOOLS: readonly McpTool[] = [
  ...DESCRIPTORS.filter(({ command }) => command.apart !== undefined).map(createTool),
  {
    name: "meeting_discover",
    description: "The meetings there are, with topic, state and participants; open ones, or all.",
    input: {
      mine: { type: "boolean", description: "Only those in which you take part or are invited" },
      all: { type: "boolean", description: "Closed ones too" },
    },
    kind: "shows",
    async run(context, { mine, all }) {
      const found = manifestsOf(context, { all: all === true, as: mine === true ? whoIs(context) : undefined });
      if (!found.ok) return found;
      const meetings = found.value.slice(-MOST_LISTED);
      return ok({ meetings, left_out: found.value.length - meetings.length });
    },
  },
  {
    name: "meeting_info",
    description: "What a meeting is about, by which rule it decides, who takes part, and how its proposals stand.",
    input: { meeting: MEETING },
    required: ["meeting"],
    kind: "shows",
    run: (context, { meeting }) => inMailbox(context, meeting, aboutMailbox),
  },
  {
    name: "meeting_read",
    description: `What was said and done in a meeting, the oldest first. Of more than ${MOST_READ} messages the first: read on with since.`,
    input: {
      meeting: MEETING,
      type: text("Only messages of this type, such as comment, proposal, vote or proposal_result"),
      agent: text("Only messages of this participant"),
      since: text("Only later ones than this message_id or time"),
    },
    required: ["meeting"],
    kind: "shows",
    run: (context, { meeting, ...filter }) =>
      inMailbox(context, meeting, (directory) => {
        const messages: JsonObject[] = [];
        for (const message of messagesIn(directory, filter)) {
          if (messages.length === MOST_READ) return ok({ messages, more: true });
          messages.push(message);
        }
        return ok({ messages, more: false });
      }),
  },
  ...Object.entries(ACTS).map(([name, act]) => actTool(name, act)),
];

/** The tool that begins a session of a mode that waits for others. Who creates it is known by the token. */
function createTool(descriptor: AnyDescriptor): McpTool {
  const { summary, options } = descriptor.command;
  const { input, typedFrom } = argumentsOf(
    options.flatMap(({ flags, description }) => (flags.startsWith("--as ") ? [] : [[flags, description] as const])),
  );
  return {
    name: "meeting_create",
    description: `Begins a meeting, ${summary}. Ids are separated by commas.`,
    input,
    required: ["topic", "participants"],
    kind: "acts",
    run(context, given) {
      const typed = defined({ ...typedFrom(given), as: whoIs(context) }) as BeginOptions;
      return beginBy(context, typed, undefined, (told, runOptions) =>
        readModeInput(told, descriptor, [], typed, runOptions),
      );
    },
  };
}

function actTool(name: string, act: Act): McpTool {
  const words = (act.words ?? []).map((word) => word.slice(1, -1));
  const { input, required, typedFrom } = argumentsOf(act.options ?? []);
  return {
    name: `meeting_${name}`,
    description: PURPOSES[name] ?? name,
    input: {
      meeting: MEETING,
      ...Object.fromEntries(words.map((word) => [word, text(WORDS[word] ?? word)])),
      ...input,
    },
    required: ["meeting", ...words, ...required],
    kind: "acts",
    async run(context, given) {
      const as = whoIs(context);
      const joins = name === "join";
      if (joins && as === undefined)
        return fails("usage", "Nobody is named who joins.", {
          hint: `Start the server with ${TOKEN_VARIABLE}=ID.SECRET: your id, and a secret of your own.`,
        });
      const said = words.map((word) => textOf(given[word]));
      const { payload_type, payload } = messageOfAct(act, said, { ...typedFrom(given), as });
      const key = joins ? { token_sha256: digestOf(context.environment[TOKEN_VARIABLE] ?? "") } : {};
      const message = { payload_type, payload: { ...payload, ...key } };
      return taken(context, textOf(given.meeting), message, { via: "mcp", open: joins });
    },
  };
}

/** Options of a command as arguments of a tool, and back as they are typed. */
function argumentsOf(options: readonly (readonly [flags: string, description: string])[]) {
  const all = options.map(([flags, description]) => {
    const name = new Option(flags.replace(/!$/, "")).attributeName();
    const key = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return {
      name,
      key,
      isNeeded: flags.endsWith("!"),
      description: description.replace("; - reads standard input", ""),
    };
  });
  return {
    input: Object.fromEntries(all.map(({ key, description }) => [key, text(description)])),
    required: all.flatMap(({ key, isNeeded }) => (isNeeded ? [key] : [])),
    typedFrom: (given: JsonObject) => Object.fromEntries(all.map(({ name, key }) => [name, wordIn(given[key])])),
  };
}

/** As whom a call acts; undefined for the local user. */
function whoIs({ environment }: CommandContext): string | undefined {
  return whoActs({}, environment[TOKEN_VARIABLE]);
}

function inMailbox(
  context: CommandContext,
  meeting: Json | undefined,
  look: (directory: string) => Fallible<object>,
): Promise<Fallible<object>> {
  return withSession(readHomeOf, context, textOf(meeting), SHOW, async ({ home, row }) => {
    const directory = mailboxOf(home, row);
    return directory.ok ? look(directory.value) : directory;
  });
}
