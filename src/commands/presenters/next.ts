import type { Ledger, LedgerFigures } from "../../kernel/ledger.ts";
import { type Presentation, shownStatus } from "../../kernel/presentation.ts";
import type { JsonObject } from "../../lib/json.ts";
import { EXIT_DONE, EXIT_INTERRUPTED, EXIT_LIMIT, exitCodeOf, recordedEnd } from "../../runtime/exit.ts";
import { type ChildWaiting, commandFor, releasesOf, type Unheard, type Waiting } from "../../ui/waiting.ts";
import type { TicketLine } from "../../ui/reporter.ts";
import type { KeptMessage } from "../lookup/kept.ts";

/** What determines the next commands of a session. */
export interface Left {
  readonly presentation: Presentation;
  readonly exit_code: number;
  readonly waiting: readonly Waiting[];
  readonly children: readonly ChildWaiting[];
  readonly ledger: Pick<Ledger, "figures" | "holds">;
  readonly report: JsonObject | undefined;
}

/** Maximum number of answers listed; `bosun inbox` has the rest. */
const ANSWERS_SHOWN = 5;

/** The commands to type next, the most useful first. */
export function nextSteps(
  session_id: string,
  { presentation, exit_code, waiting, children, ledger: { figures, holds }, report }: Left,
): string[] {
  if (report) {
    const again = (presentation.worthRetrying?.(report) ?? [])
      .slice(0, ANSWERS_SHOWN)
      .flatMap((subject) => [`bosun log ${session_id} ${subject}`, `bosun retry ${session_id} ${subject}`]);
    return exit_code === EXIT_DONE ? [`bosun replay ${session_id} --verify`] : [...again, `bosun replay ${session_id}`];
  }
  const resume = `bosun resume ${session_id}`;
  const limit = figures.stopped?.limit;
  const isSpent = limit?.startsWith("role_") === true;
  if (exit_code === EXIT_LIMIT && limit !== "max_hold_s" && !isSpent) return [`${resume} ${raised(figures)}`];
  const released = releasesOf(
    session_id,
    [...holds.values()].filter(({ limit: own }) =>
      isSpent ? own !== undefined && own.limit !== "turns_per_minute" : own === undefined,
    ),
  );
  const ofChildren = children.flatMap((child) => [
    ...answersTo(child.session_id, child.waiting),
    ...releasesOf(child.session_id, child.holds),
  ]);
  // The manager's output says why it failed.
  const why = figures.stopped?.reason === "manager_failed" ? [`bosun log ${session_id}`] : [];
  return [...answersTo(session_id, waiting), ...ofChildren, ...(released.length > 0 ? released : [resume]), ...why];
}

/** The same for a session that is only shown, beside its questions. `held` says whether a process runs it. */
export function nextFor(
  session_id: string,
  held: boolean,
  left: Omit<Left, "exit_code" | "waiting" | "children">,
): string[] {
  const { stopped, paused } = left.ledger.figures;
  if (held) return [paused === true ? `bosun resume ${session_id}` : `bosun log ${session_id} --follow`];
  const end = recordedEnd(left.ledger.figures);
  const exit_code = end === undefined ? EXIT_INTERRUPTED : exitCodeOf(end, stopped?.signal);
  return nextSteps(session_id, { ...left, exit_code, waiting: [], children: [] });
}

/** Messages that came too late, with the command that now has the intended effect: only a retry reopens a session. */
export function lateMessages(
  presentation: Presentation,
  session_id: string,
  words: readonly KeptMessage[],
  tickets: readonly TicketLine[],
): Unheard[] {
  const isLost = ({ status }: TicketLine) =>
    presentation.retries && shownStatus(presentation, status).stage === "failed";
  const lost = new Set<string | undefined>(tickets.filter(isLost).map(({ ticket_id }) => ticket_id));
  return words.map(({ said, command, ticket_id }) =>
    command === "retry" && lost.has(ticket_id) ? { said, again: `bosun retry ${session_id} ${ticket_id}` } : { said },
  );
}

/** The commands that answer what a session asks. */
export function answersTo(session_id: string, waiting: readonly Waiting[]): string[] {
  const answers = waiting.slice(0, ANSWERS_SHOWN).map((one) => commandFor(session_id, one));
  return waiting.length > ANSWERS_SHOWN ? [...answers, `bosun inbox`] : answers;
}

function raised({ stopped }: LedgerFigures): string {
  const { limit, used = 0, max = 0 } = stopped ?? {};
  switch (limit) {
    case "turns":
      return `--budget-turns ${Math.max(used, 1) * 2}`;
    case "tokens":
    case "usd":
      // A limit that was not reached stopped the session because usage is unknown; the same limit accepts that.
      return `--budget-${limit} ${used >= max ? Math.ceil(Math.max(used, 1) * 2) : max}`;
    default:
      return "--deadline 4h";
  }
}
