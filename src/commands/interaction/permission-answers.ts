import { err, ok, type Result } from "../../lib/result.ts";
import { type Failure, failure } from "../../protocol/failure.ts";
import type { StoreReader } from "../../store/store.ts";
import { safeLine } from "../../ui/display.ts";
import { type OpenPermission, permissionChoices } from "../../ui/permission-lines.ts";
import { keptFor, saidAlready } from "./kept.ts";
import { permissionMessage, type PersonMessage } from "./person-message.ts";

/**
 * Parses the words after a command into a decision on a permission: its id, the decision, and words for the program. The id may be left out
 * if nothing else is asked (`alone`). Undefined if the words are about something else. Failure `usage` for an unknown decision, or a second
 * one.
 */
export function permissionDecision(
  reader: StoreReader,
  session_id: string,
  permissions: readonly OpenPermission[],
  typed: readonly string[],
  alone: boolean,
): Result<PersonMessage | undefined, Failure> {
  const named = permissions.find(({ ask_id }) => ask_id === typed[0]);
  const permission = named ?? (alone && permissions.length === 1 ? permissions[0] : undefined);
  if (permission === undefined || typed.length === 0) return ok(undefined);
  const { ask_id } = permission;
  const [word, ...notes] = named ? typed.slice(1) : typed;
  const kept = keptFor(reader, session_id, permission);
  if (kept !== undefined) return err(saidAlready(session_id, ask_id, kept));
  const choices = permissionChoices(permission).map(({ key }) => key);
  const choice = choices.find((key) => key === word);
  if (choice !== undefined) return ok(permissionMessage(ask_id, choice, notes.join(" ").trim()));
  const what = word === undefined ? "The decision is missing" : `${JSON.stringify(safeLine(word))} is no decision`;
  const hint = `Write one of ${choices.join(", ")}: bosun answer ${session_id} ${ask_id} allow`;
  return err(failure("usage", `${what} on the permission ${ask_id}.`, { hint }));
}
