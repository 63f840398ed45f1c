import type { Command } from "commander";
import { defined, type JsonObject } from "../lib/json.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { PayloadType } from "../protocol/payload.ts";
import type { CommandContext, Register } from "./context/command.ts";
import { type ActingOptions, actOn, digestOf, TOKEN_VARIABLE, whoActs } from "./driver/act.ts";
import { newToken } from "./lookup/id.ts";
import { standardInput } from "./options/requirement.ts";

/** The most bytes of a text that is read from stdin; no longer text is valid. */
const MAX_TEXT_BYTES = 800_000;

interface Given extends ActingOptions {
  readonly [option: string]: string | boolean | undefined;
}

/** What one command does to a meeting: its words behind the meeting, its options, and what it says. */
interface Act {
  readonly words?: readonly string[];
  /** Flags and description; those with `!` must be given. */
  readonly options?: readonly (readonly [flags: string, description: string])[];
  readonly type: PayloadType | ((given: Given) => PayloadType);
  says(words: readonly string[], given: Given): JsonObject;
}

const ACTS: Readonly<Record<string, Act>> = {
  invite: {
    words: ["<id>"],
    type: "participant",
    says: ([agent_id = ""]) => ({ agent_id, status: "invited" }),
  },
  join: { type: "participant", says: (_, { as = "" }) => ({ agent_id: as, status: "joined" }) },
  leave: {
    options: [["--reason <text>", "why"]],
    type: "participant",
    says: (_, { as = "", reason }) => ({ agent_id: as, status: "left", ...defined({ reason }) }),
  },
  post: {
    options: [
      ["--text <text>!", "what is said; - reads standard input"],
      ["--type <type>", "comment (default) or agenda_item"],
      ["--reply-to <message>", "the message_id that it answers"],
    ],
    type: ({ type }) => (type === "agenda_item" ? "agenda_item" : "comment"),
    says: (_, { type, text, replyTo }) =>
      type === "agenda_item" ? { title: text } : { text, ...defined({ reply_to_message_id: replyTo }) },
  },
  propose: {
    options: [
      ["--title <text>", "what is proposed, in a line"],
      ["--details <text>", "all of it; - reads standard input"],
      ["--withdraw <proposal>", "in place of both: a proposal of yours that you take back"],
    ],
    type: "proposal",
    says: (_, { title, details, withdraw }) =>
      withdraw === undefined ? defined({ title, details }) : { proposal_id: withdraw, status: "withdrawn" },
  },
  vote: {
    words: ["<proposal>", "<vote>"],
    options: [["--rationale <text>", "why"]],
    type: "vote",
    says: ([proposal_id = "", vote = ""], { rationale }) => ({ proposal_id, vote, ...defined({ rationale }) }),
  },
  state: {
    words: ["<state>"],
    options: [["--reason <text>!", "why"]],
    type: "state_change",
    says: ([new_state = ""], { reason }) => ({ new_state, reason }),
  },
  close: {
    options: [["--summary <text>!", "what came out of it; - reads standard input"]],
    type: "summary",
    says: (_, { summary }) => ({ summary_text: summary }),
  },
};

/** The command that does this to a meeting. */
export function registerOf(name: string): Register {
  const act = ACTS[name];
  if (act === undefined) throw new Error(`there is no act ${name}`);
  return (command) => {
    command.argument("<meeting>", "its id, or the beginning of it");
    for (const word of act.words ?? []) command.argument(word);
    for (const [flags, description] of act.options ?? [])
      if (flags.endsWith("!")) command.requiredOption(flags.slice(0, -1), description);
      else command.option(flags, description);
    addActing(command);
    return (context, words, given: Given) => perform(context, name, act, words, given);
  };
}

function addActing(command: Command): void {
  command
    .option("--as <id>", "who acts, if not you")
    .option("--token <token>", `the token that join gave (default: $${TOKEN_VARIABLE})`)
    .option("--json", "one JSON object on stdout, and nothing else");
}

async function perform(
  context: CommandContext,
  name: string,
  act: Act,
  [meeting = "", ...words]: readonly string[],
  options: Given,
) {
  const read = await withStandardInput(context, options);
  if (!read.ok) return read;
  const as = whoActs(read.value, context.environment[TOKEN_VARIABLE]);
  const given: Given = as === undefined ? read.value : { ...read.value, as };
  if (as === undefined && name === "join")
    return fails("usage", "Nobody is named who joins.", { hint: `bosun meeting join ${meeting} --as ID` });
  const payload_type = typeof act.type === "string" ? act.type : act.type(given);
  const payload = act.says(words, given);
  const next = ["bosun meeting read", "bosun meeting info"];
  if (name !== "join") return actOn(context, meeting, { payload_type, payload }, given, { next });
  const token = newToken(as ?? "");
  const message = { payload_type, payload: { ...payload, token_sha256: digestOf(token) } };
  return actOn(
    context,
    meeting,
    message,
    { json: given.json === true },
    {
      open: true,
      next,
      lines: [
        `${as} takes part. Its token is shown only now; an earlier one is void:`,
        `  ${token}`,
        `Show it with --token, or in ${TOKEN_VARIABLE}.`,
      ],
      json: { agent_id: as, token },
    },
  );
}

/** The options with the text of stdin in place of the `-`. */
async function withStandardInput({ terminal }: CommandContext, given: Given): Promise<Fallible<Given>> {
  const [name] = Object.entries(given).find(([, value]) => value === "-") ?? [];
  if (name === undefined) return ok(given);
  const text = await standardInput(terminal, name, MAX_TEXT_BYTES);
  if (text.ok) return ok({ ...given, [name]: text.value.trimEnd() });
  return err({ code: "usage", message: `The ${name} cannot be read: ${text.error.what}.`, hint: "Give it as text." });
}
