import type { Command } from "commander";
import { digestOf } from "../kernel/mailbox.ts";
import { err, ok } from "../lib/result.ts";
import { fails, type Fallible } from "../protocol/failure.ts";
import type { CommandContext, Register } from "./context/command.ts";
import { actOn, TOKEN_VARIABLE, whoActs } from "./driver/act.ts";
import { type Act, ACTS, type Given, messageOfAct } from "./driver/acts.ts";
import { newToken } from "./lookup/id.ts";
import { standardInput } from "./options/requirement.ts";

/** The most bytes of a text that is read from stdin; no longer text is valid. */
const MAX_TEXT_BYTES = 800_000;

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
  const { payload_type, payload } = messageOfAct(act, words, given);
  const next = ["bosun meeting read", "bosun meeting info"];
  if (name !== "join") return actOn(context, meeting, { payload_type, payload }, given, { next });
  const token = newToken(as ?? "");
  const message = { payload_type, payload: { ...payload, token_sha256: digestOf(token) } };
  return actOn(
    context,
    meeting,
    message,
    { json: given.json === true, open: true },
    {
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
