import { safeLine, visibleText } from "./display.ts";
import type { Output } from "./terminal.ts";
import { counted, localize } from "./words.ts";

/** Of a longer action, only the start and the end are shown; in characters. */
const ACTION_START = 250;
const ACTION_END = 120;

/** Maximum number of lines shown; beyond it, only the first and the last ones are shown. A longer line counts as several. */
const SHOWN_LINES = 40;
const FIRST_LINES = 25;
const LAST_LINES = 14;
const LINE_CHARACTERS = 200;

/** An action that a role's program may only take if a person permits it. */
export interface OpenPermission {
  readonly kind: "permission";
  readonly ask_id: string;
  readonly role_id: string;
  readonly ticket_id?: string | undefined;
  /** In one line: `run: npm publish`. */
  readonly action: string;
  /** The whole command, patch or arguments. */
  readonly details?: string | undefined;
  /** The program's reason. */
  readonly why?: string | undefined;
  /** What commands like this one begin with; none for other actions. */
  readonly prefix?: string | undefined;
}

/** The decisions on a permission, as typed. */
const PERMISSION_CHOICES = [
  { key: "allow", label: "Allow it once" },
  { key: "allow-ticket", label: "Allow it for this ticket" },
  { key: "allow-session", label: "Allow it for the session" },
  { key: "allow-prefix", label: "Allow it for the session, also with other arguments" },
  { key: "deny", label: "Deny it" },
] as const;

export type PermissionChoice = (typeof PERMISSION_CHOICES)[number]["key"];

/** The possible decisions on a permission: without a ticket, none is for the ticket, and without a prefix none for that. */
export function permissionChoices({ ticket_id, prefix }: OpenPermission): { key: PermissionChoice; label: string }[] {
  return PERMISSION_CHOICES.filter(
    ({ key }) =>
      (key !== "allow-ticket" || ticket_id !== undefined) && (key !== "allow-prefix" || prefix !== undefined),
  ).map(({ key, label }) => ({ key, label: key === "allow-prefix" ? `${label}: ${safeLine(prefix ?? "")} …` : label }));
}

/** What a program wants to do, and for which ticket. */
export function permissionSentence({ role_id, action, ticket_id }: OpenPermission): string {
  const about = ticket_id === undefined ? "" : ` (ticket ${safeLine(ticket_id)})`;
  return `${safeLine(role_id)} wants to ${shortened(safeLine(visibleText(action)))}${about}`;
}

/** What a person should know before deciding: the whole action, the program's reason, and the other decisions. */
export function permissionDetails(waiting: OpenPermission, output: Pick<Output, "program" | "anywhere">): string[] {
  const { why } = waiting;
  const others = permissionChoices(waiting).map(({ key }) => key);
  return [
    ...wholeLines(waiting, output),
    ...(why === undefined ? [] : [`why: ${safeLine(why)}`]),
    `one of: ${others.join(" | ")}`,
  ];
}

/** The whole of what is to be permitted, in lines. Empty if the sentence shows it whole. */
export function wholeLines(
  { action, details = action }: OpenPermission,
  output: Pick<Output, "program" | "anywhere">,
): string[] {
  const line = safeLine(visibleText(action));
  const whole = visibleText(details);
  if (shortened(line) === line && (line === whole || line.endsWith(`: ${whole}`))) return [];
  const lines = whole.split("\n");
  const pieces = lines.flatMap((text) => text.match(PIECES) ?? [""]);
  if (pieces.length <= SHOWN_LINES) return lines;
  const hidden = pieces.slice(FIRST_LINES, -LAST_LINES).join("").length;
  return [
    ...pieces.slice(0, FIRST_LINES),
    `… ${counted(hidden, "more character")}, all in: ${localize(output, "bosun inbox --json")}`,
    ...pieces.slice(-LAST_LINES),
  ];
}

const PIECES = new RegExp(`.{1,${LINE_CHARACTERS}}`, "gsu");

/** The start and the end of an action, and how much is between them. */
function shortened(line: string): string {
  const hidden = line.length - ACTION_START - ACTION_END;
  if (hidden <= 0) return line;
  const [start, end] = [line.slice(0, ACTION_START), line.slice(-ACTION_END)].map((text) => text.toWellFormed());
  return `${start} […${counted(hidden, "more character")}…] ${end}`;
}
