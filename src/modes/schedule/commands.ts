import { hash } from "node:crypto";
import { aboutCommands, askAboutCommands, type CheckCommand } from "../../kernel/kit/commands.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { defined, type JsonObject } from "../../lib/json.ts";
import type { Criterion, Task } from "../../protocol/payload.ts";
import { about } from "../../protocol/recording.ts";
import type { Draft } from "./draft.ts";
import type { SessionValue, Ticket } from "./state.ts";

const WHY = "The plan does not have it. It checks work, in the strictest sandbox of the workers.";

export function commandsIn(criteria: readonly Criterion[] = []): CheckCommand[] {
  return criteria.flatMap((one) => (typeof one === "object" && one.command !== undefined ? [one.command] : []));
}

/** The commands of a task, and of the instruction that its plan gives. */
export function commandsOf({ acceptance_criteria, instruction }: Task): CheckCommand[] {
  return [...commandsIn(acceptance_criteria), ...commandsIn(instruction?.acceptance_criteria)];
}

/** The digests that a ticket or the session keeps of commands that a person has seen: an agent must not find two commands with the same one. */
export function digestsOf(commands: readonly CheckCommand[]): string[] {
  return [...new Set(commands.map((command) => hash("sha256", canonicalJson([...command]), "base64")))];
}

/** Those commands, each once, that neither the ticket's plan nor the configuration has, nor a person has allowed. */
export function unseen(
  { seen = [], later_commands }: SessionValue,
  ticket: Ticket | undefined,
  commands: readonly CheckCommand[],
): CheckCommand[] {
  const known = new Set([...seen, ...(ticket?.seen ?? [])]);
  if (later_commands === "own") return [];
  return commands.filter((command) => {
    const [digest = ""] = digestsOf([command]);
    return !known.has(digest) && known.add(digest);
  });
}

/** Whether a person is asked before the scheduler runs a command that the approved plan does not have. */
export function asksForCommands({ session: { settings, later_commands } }: Draft): boolean {
  return settings.plan_approval === "ask" && later_commands === undefined;
}

/** The id of the ask about the commands of a ticket's instruction. The ticket may wait for something else by now. */
export function asksAbout({ instructed }: Ticket): string | undefined {
  return instructed && askAboutCommands(instructed.record);
}

/** Puts new commands on record as a permission that their manager wants. Returns the id of the ask; `undefined` if nobody has to be asked. */
export function announce(
  draft: Draft,
  subject: string | undefined,
  commands: readonly CheckCommand[],
): string | undefined {
  const { fact, session } = draft;
  const ask_id = askAboutCommands(fact.sequence);
  const its = defined({ subject });
  const described = aboutCommands(fact.source, commands, WHY);
  const payload: JsonObject = { subject: "permission", ask_id, ...about(subject), about: described };
  const record = draft.out.envelope({ target: "user", payload_type: "approval_request", payload, ...its });
  if (asksForCommands(draft)) {
    draft.out.command({ do: "ask", ask_id, kind: "permission", record, ...its });
    return ask_id;
  }
  const isAllowed = session.later_commands === "allowed";
  const notes = isAllowed ? "later commands were allowed with the plan" : "plan_approval is never";
  const approval = { decision: "approved", ask_id, scope: subject === undefined ? "session" : "ticket", notes };
  draft.out.envelope({ target: fact.source, payload_type: "approval", payload: approval, ...its });
  return undefined;
}
