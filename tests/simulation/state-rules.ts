import { canonicalJson } from "../../src/lib/canonical.ts";
import type { Json, JsonObject } from "../../src/lib/json.ts";
import type { Change } from "../../src/kernel/mode.ts";
import type { Commit, Lease } from "../../src/store/store.ts";
import { MODES } from "./modes.ts";
import type { SimulatedProcess } from "./processes.ts";
import type { Remembered, Scheduler } from "./scheduler.ts";
import type { World } from "./world.ts";

/** Collections that must be empty in a closed session. */
const OPEN = ["turn", "timer", "ask", "check", "child", "hold", "process"];

/** The counters of a ticket, each with the setting that limits it. */
const LIMITS = [
  ["retries", "max_retries"],
  ["escalations", "max_escalations"],
  ["check_rounds", "check_rounds"],
  ["review_rounds", "max_review_rounds"],
  ["question_rounds", "max_clarification_rounds"],
] as const;

/** Checks a process that begins to work against all others: which may run at the same time. */
export function checkWork(world: World, process: SimulatedProcess): void {
  const { config, roles } = world.scenario;
  const { session_id } = process;
  const working = world.processes.working.filter((other) => other.session_id === session_id);
  if (working.some(({ owner }) => owner !== process.owner)) {
    world.violated("two live schedulers never run one session", `${process.who} of ${session_id}`);
  }
  if (process.owner.isFenced) world.violated("a fenced scheduler gives no work", process.who);
  const others = working.filter((other) => other !== process && other.subject === process.subject);
  const beside = others.find((other) => other.kind !== "check");
  const what = `${process.who} on ${process.subject} (${process.turn_id ?? "a check"})`;
  if (process.subject !== undefined && beside && process.kind !== "check") {
    world.violated("one live agent for a ticket", `${what} beside ${beside.who} (${beside.turn_id})`);
  }
  if (process.kind === "check" && beside?.kind === "worker") {
    world.violated("checks run when the worker is gone", `${what} beside ${beside.who} (${beside.turn_id})`);
  }
  const seated = working.filter(({ lent }) => lent !== true);
  const alike = seated.filter((other) => other.kind === process.kind).length;
  if ((process.kind === "worker" || process.kind === "participant") && alike > config.max_workers) {
    world.violated("no more workers than max_workers", `${alike} of ${config.max_workers}`);
  }
  const role = roles.find((one) => one.role_id === process.who);
  const several = role?.supports_multiple_instances ?? process.kind !== "manager";
  const most = role?.max_instances ?? (several ? Number.POSITIVE_INFINITY : 1);
  const lends = role?.supports_multiple_instances ?? most > 1;
  const instances = (lends ? seated : working).filter((other) => other.who === process.who).length;
  if (process.kind !== "check" && instances > most) {
    world.violated("no more instances of a role than it allows", `${instances} of ${process.who}`);
  }
  if (process.inside) return;
  const recorded = [...world.database.texts(session_id, "process").values()].some((text) => {
    const row = JSON.parse(text) as { pid: number; started: string };
    return row.pid === process.pid && row.started === process.started;
  });
  if (!recorded) world.violated("every working process is recorded", what);
}

/** Checks that the tickets in a commit stay within the limits. */
export function checkChanges(world: World, { changes }: Commit): void {
  for (const change of changes) {
    if (!("put" in change) || change.put !== "ticket") continue;
    const ticket = change.value as Record<string, number | undefined>;
    const config = world.scenario.config as unknown as Record<string, number>;
    for (const [counter, setting] of LIMITS) {
      const limit = config[setting] ?? 0;
      if ((ticket[counter] ?? 0) > limit) {
        world.violated("counters stay within their limits", `${change.id}: ${counter} ${ticket[counter]} of ${limit}`);
      }
    }
  }
}

/** Checks that the session's row says whether and how it has ended. */
export function checkRow(world: World, { session_id }: Lease, { session }: Commit): void {
  const text = world.database.texts(session_id, "figures").get("figures");
  const { closed } = (text === undefined ? {} : JSON.parse(text)) as { closed?: { outcome: string } };
  const { state, outcome = null } = session ?? {};
  const isClosed = state === "closed";
  if (isClosed !== (closed !== undefined) || outcome !== (closed?.outcome ?? null)) {
    world.violated(
      "a session is stored as closed, with its outcome, as long as it is",
      JSON.stringify([session, closed]),
    );
  }
}

/** Checks that a question to a person goes only with the fact that answers or withdraws it. A permission goes with its turn, too. */
export function checkAsks(world: World, { changes, records }: Commit): void {
  const dropped = changes.filter(
    (change: Change) => "drop" in change && change.drop === "ask" && !/^p\d/.test(change.id),
  );
  if (dropped.length === 0) return;
  const answers =
    /"payload_type":"(?:clarification_response|approval|review|user_command|plan|proposal_result|participant|session_closed|turn_failed)"|"timer_id":"budget:/;
  if (!records.some(({ line }) => answers.test(line))) {
    world.violated("a question to a person is never lost", JSON.stringify(dropped));
  }
}

/** Compares a scheduler's memory with the store, once everything is committed. */
export function compareMemory(world: World, scheduler: Scheduler | undefined): void {
  if (!scheduler || scheduler.isDead) return;
  for (const remembered of scheduler.memory.values()) compareSession(world, remembered);
}

function compareSession(world: World, { session, state: known }: Remembered): void {
  const { session_id } = session;
  if (session.sequence !== world.database.lastSequence(session_id)) return;
  const {
    turns,
    timers,
    asks,
    checks,
    children,
    holds,
    uses,
    admissions,
    grants,
    spends,
    quotas,
    changes,
    terms,
    figures,
  } = session.ledger;
  for (const { ask_id, permission } of asks.values()) {
    if (permission && turns.get(permission.turn_id)?.status !== "open")
      world.violated("a permission is withdrawn with its turn", `${session_id}: ${ask_id}`);
  }
  const state = known as JsonObject & Record<"tickets" | "questions" | "subjects", Map<string, Json> | undefined>;
  const mode = world.sessions.find((one) => one.session_id === session_id)?.mode ?? "";
  const { subjects = "" } = MODES.get(mode) ?? {};
  const one = (name: string, value: unknown) => new Map(value === undefined ? [] : [[name, value]]);
  const memory: Record<string, ReadonlyMap<string, unknown>> = {
    turn: turns,
    timer: timers,
    ask: asks,
    check: checks,
    child: children,
    hold: holds,
    role_use: uses,
    admissions,
    grant: grants,
    spend: spends,
    quota: quotas,
    change: changes,
    terms: one("terms", terms),
    figures: one("figures", figures),
    session: one("session", state["session"]),
    ticket: state.tickets ?? new Map<string, Json>(),
    question: state.questions ?? new Map<string, Json>(),
    self: one("self", state["self"]),
    ...(state.subjects && { [subjects]: state.subjects }),
  };
  for (const [collection, values] of Object.entries(memory)) {
    const stored = world.database.texts(session_id, collection);
    for (const [id, value] of values) {
      const text = JSON.stringify(value);
      const kept = stored.get(id) ?? "null";
      // A value that never changed was never written.
      if (stored.size === 0 && (collection === "terms" || collection === "figures")) continue;
      // A replay makes values from canonical records, whose members have another order.
      if (kept !== text && canonicalJson(JSON.parse(kept) as Json) !== canonicalJson(value)) {
        world.violated(
          "stored rows are the state in memory",
          `${session_id}: ${collection} ${id}: ${text} is stored as ${kept}`,
        );
      }
    }
    if (stored.size > values.size) {
      world.violated(
        "stored rows are the state in memory",
        `${session_id}: ${stored.size} rows of ${collection} for ${values.size}`,
      );
    }
  }
}

/** Checks that nothing is open in a closed session and its children. */
export function checkClosed(world: World): void {
  for (const { session_id, state } of world.sessions) {
    if (state !== "closed") world.violated("a closed session is closed with its children", `${session_id} is ${state}`);
    for (const collection of OPEN) {
      const [left] = world.database.texts(session_id, collection);
      if (left)
        world.violated("a closed session has nothing open", `${session_id}: ${collection} ${left[0]}: ${left[1]}`);
    }
  }
}
