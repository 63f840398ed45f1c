import type { JsonObject } from "../../src/lib/json.ts";
import type { PayloadByType, ResolvedConfiguration } from "../../src/protocol/payload.ts";
import { GENESIS, type LogRecord, type RecordedEffect } from "../../src/protocol/record.ts";
import { milliseconds } from "../../src/protocol/timestamp.ts";
import type { Lease, Commit } from "../../src/store/store.ts";
import { BudgetRules } from "./budget-rules.ts";
import type { World } from "./world.ts";

interface KnownTicket {
  dependencies: readonly string[];
  /** The commands that must pass before the ticket is done. */
  commands: string[][];
  text: string;
  status: string;
  done: number;
  /** What the latest checks found since the last delivery. */
  checked: Map<string, boolean> | undefined;
}

/** Checks each record of a session against the records before it, by the promises alone. Knows nothing of the code that writes them. */
export class RecordRules {
  readonly #world: World;
  readonly #tickets = new Map<string, KnownTicket>();
  readonly #marks = new Map<string, number>();
  readonly #runs = new Map<string, number>();
  readonly #ended = new Set<string>();
  readonly #budgets: BudgetRules;
  #sequence = 0;
  #head = GENESIS;
  #epoch = 0;
  #at = "2000-01-01T00:00:00Z";
  #mode: unknown;
  #houseCommands: string[][] = [];
  /** The ids of the permissions that were asked for. */
  /** The ticket and the commands of the last instruction, and those of instructions that wait for a person. */
  #instructed: { readonly ticket_id?: string | undefined; readonly commands?: readonly string[][] } = {};
  readonly #heldBack = new Map<
    unknown,
    { readonly ticket_id?: string | undefined; readonly commands: readonly string[][] }
  >();
  readonly #permissions = new Set<unknown>();
  /** The tasks of the current plan, and of the plan that waits for approval. */
  #standing: readonly JsonObject[] = [];
  #proposed: readonly JsonObject[] | undefined;
  #closed = false;
  #reopened = false;
  #paused = false;

  /** Called with the tasks of every plan that becomes current. */
  onPlan: (tasks: readonly JsonObject[]) => void = () => {};
  /** Called with what the log says about children: a child's own first record, and the parent's records of its beginning and end. */
  onChild: (record: LogRecord) => void = () => {};

  constructor(world: World) {
    this.#world = world;
    this.#budgets = new BudgetRules(world);
  }

  get records(): number {
    return this.#sequence;
  }

  /** How often something that a person sent is recorded. */
  count(mark: string): number {
    return this.#marks.get(mark) ?? 0;
  }

  check({ session_id, epoch }: Lease, { records }: Commit): void {
    if (epoch < this.#epoch) this.#violated("a fenced scheduler writes nothing", `epoch ${epoch} after ${this.#epoch}`);
    this.#epoch = epoch;
    for (const { line, sequence } of records) {
      const record = JSON.parse(line) as LogRecord;
      const { integrity } = record;
      if (sequence !== this.#sequence + 1 || integrity.sequence !== sequence) {
        this.#violated("sequences have no gaps", `${sequence} after ${this.#sequence}`);
      }
      if (integrity.previous !== this.#head) this.#violated("records are chained", `record ${sequence}`);
      this.#sequence = sequence;
      this.#head = integrity.hash;
      const at = record.record.received_at;
      if (milliseconds(at) < milliseconds(this.#at)) {
        this.#violated("the log's time never goes back", `record ${sequence}: ${at} after ${this.#at}`);
      }
      this.#at = at;
      this.#world.log(() => this.#world.nameOf(session_id) + describe(record));
      this.#take(record);
    }
  }

  #take(record: LogRecord): void {
    const { payload_type, payload, source } = record;
    const { disposition, actor, effects = [], turn_id, ticket_id } = record.record;
    if (this.#closed && payload_type !== "session_reopened") {
      this.#violated("nothing follows the closing record", describe(record));
    }
    const mark = actor?.via;
    if (mark?.startsWith("person-")) this.#marks.set(mark, this.count(mark) + 1);
    if (disposition === "late" || disposition === "duplicate") {
      if (effects.length > 0) this.#violated("a late fact moves nothing", describe(record));
      this.#budgets.countUsage(record.record);
      return;
    }
    if (payload_type === "check_result") this.#checked(payload, ticket_id);
    this.#followEffects(record);
    // A session that was reopened without effect is closed as before.
    if (effects.length > 0) this.#reopened = false;
    switch (payload_type) {
      case "session_opened":
        this.#opened(payload);
        if (payload["parent"]) this.onChild(record);
        return;
      case "session_begun":
        this.#budgets.begun(payload as PayloadByType["session_begun"]);
        this.onChild(record);
        return;
      case "session_finished":
        this.#budgets.finished(payload as PayloadByType["session_finished"]);
        this.onChild(record);
        return;
      case "session_recovered":
        this.#budgets.interrupted();
        this.#budgets.limited(payload["limits"] as object | undefined);
        return;
      case "time_shifted":
        if (payload["cause"] === "sleep") this.#budgets.slept(payload["shift_ms"] as number);
        return;
      case "timer_fired":
        if (disposition === "applied") this.#budgets.fired(payload["timer_id"] as string);
        return;
      case "session_reopened":
        this.#closed = false;
        this.#reopened = true;
        this.#paused = false;
        return;
      case "turn_request":
        this.#requested(record);
        return;
      case "user_command":
        if (disposition === "applied") this.#commanded(payload);
        return;
      case "plan":
        if (disposition === "applied") this.#planned(record);
        break;
      case "approval":
        // One about a permission moves no plan.
        if (disposition !== "applied") return;
        if (this.#heldBack.has(payload["ask_id"])) this.#commandsDecided(payload);
        else if (this.#permissions.has(payload["ask_id"])) this.#budgets.decided(record);
        else this.#approved(record);
        return;
      case "approval_request":
        if (payload["subject"] === "permission" && turn_id === undefined) {
          this.#holdBack(payload["ask_id"], ticket_id);
        } else if (payload["subject"] === "permission" && disposition === "applied") {
          this.#permissions.add(payload["ask_id"]);
          this.#budgets.waits(record);
        }
        break;
      case "instruction":
        if (disposition === "applied" && ticket_id !== undefined) {
          const commands = commandsOf(payload["acceptance_criteria"]);
          this.#tickets.get(ticket_id)?.commands.push(...commands);
          this.#instructed = { ticket_id, commands };
        }
        break;
      case "session_stopped":
        this.#budgets.interrupted();
        if (payload["reason"] === "no_progress" && !this.#reopened)
          this.#violated("no_progress never", describe(record));
        return;
      case "final_report":
        if (payload["reason"] === "no_progress") this.#violated("no_progress never", describe(record));
        return;
      case "session_closed":
        this.#closed = true;
        this.#budgets.closed();
        return;
      default:
    }
    const goesOn =
      payload_type === "artifact_ref" ||
      payload_type === "approval_request" ||
      (payload_type === "report" && payload["status"] === "progress");
    if (turn_id === undefined || goesOn || record.record.kind === "decided" || isNote(record)) return;
    const run = `${turn_id}.${record.record.run}`;
    if (this.#ended.has(run)) this.#violated("every fact is recorded once", `run ${run} of ${source} ended twice`);
    this.#ended.add(run);
    this.#budgets.ended(record);
  }

  #opened(payload: JsonObject): void {
    const config = payload["config"] as unknown as ResolvedConfiguration;
    this.#mode = payload["mode"];
    this.#houseCommands = commandsOf(config.checks?.ticket);
    this.#budgets.opened(config);
  }

  #commanded(said: JsonObject): void {
    const { command, limits } = said;
    this.#budgets.commanded(said);
    if (command === "limits") this.#budgets.limited(limits as object | undefined);
    if (command === "pause") this.#paused = true;
    if (command === "resume") this.#paused = false;
  }

  #requested(asked: LogRecord): void {
    const { record, payload, integrity } = asked;
    this.#budgets.requested(asked);
    const { turn_id = "", run = 1, ticket_id } = record;
    if (this.#paused) this.#violated("a paused session begins nothing", `record ${integrity.sequence}`);
    const before = this.#runs.get(turn_id) ?? 0;
    if (run <= before) this.#violated("a turn's runs rise", `${turn_id}: ${run} after ${before}`);
    this.#runs.set(turn_id, run);
    if (ticket_id === undefined || this.#mode !== "schedule") return;
    const ticket = this.#tickets.get(ticket_id);
    for (const dependency of ticket?.dependencies ?? []) {
      const status = this.#tickets.get(dependency)?.status;
      if (status !== "done")
        this.#violated("dependencies are respected", `${ticket_id} before ${dependency} (${status})`);
    }
    const message = payload["message"] as { payload_type: string };
    if (!ticket || ticket.status === "done" || ticket.status === "error") {
      this.#violated(
        "no turn is about a ticket that is over",
        `${message.payload_type} of ${ticket_id} (${ticket?.status})`,
      );
    }
  }

  /** A manager's plan without effects is a revision that waits for approval. The manager goes on from it, whatever the person decides. */
  #planned({ payload, source, record: { effects = [] } }: LogRecord): void {
    const tasks = payload["tasks"] as JsonObject[];
    this.#proposed = source !== "user" && effects.length === 0 ? tasks : undefined;
    if (this.#proposed) this.onPlan(tasks);
    else this.#stands(tasks, effects);
  }

  #approved({ payload, record: { effects = [] } }: LogRecord): void {
    const { plan, decision } = payload as { plan?: { tasks: JsonObject[] }; decision: string };
    const tasks = decision === "approved" ? (plan?.tasks ?? this.#proposed) : undefined;
    this.#proposed = undefined;
    if (tasks) this.#stands(tasks, effects);
    else if (decision === "rejected") this.onPlan(this.#standing);
  }

  /**
   * Takes a plan as current: its tasks, and the commands that must pass for each. A ticket that does not restart keeps
   * its instructions' commands.
   */
  #stands(tasks: readonly JsonObject[], effects: readonly RecordedEffect[]): void {
    this.#standing = tasks;
    this.onPlan(tasks);
    this.#budgets.planned(tasks);
    const anew = new Set(
      effects.flatMap(({ ticket_id, event }) => (event === "replanned" || event === "manual_reset" ? [ticket_id] : [])),
    );
    for (const task of tasks) {
      const { status: _echo, ...planned } = task;
      const id = task["task_id"] as string;
      const text = JSON.stringify(planned);
      const known = this.#tickets.get(id);
      if (known?.status === "done" || (known?.text === text && !anew.has(id))) continue;
      const given = task["instruction"] as JsonObject | undefined;
      this.#tickets.set(id, {
        dependencies: (task["dependencies"] as string[] | undefined) ?? [],
        commands: [
          ...this.#houseCommands,
          ...commandsOf(task["acceptance_criteria"]),
          ...commandsOf(given?.["acceptance_criteria"]),
        ],
        text,
        status: known?.status ?? "pending",
        done: known?.done ?? 0,
        checked: undefined,
      });
    }
  }

  /** The commands of the last instruction do not count until they are allowed. */
  #holdBack(ask_id: unknown, ticket_id: string | undefined): void {
    const { commands = [] } = ticket_id === undefined ? {} : this.#instructed;
    this.#tickets.get(ticket_id ?? "")?.commands.splice(-commands.length, commands.length);
    this.#heldBack.set(ask_id, { ticket_id, commands });
  }

  #commandsDecided({ ask_id, decision }: JsonObject): void {
    const { ticket_id = "", commands = [] } = this.#heldBack.get(ask_id) ?? {};
    this.#heldBack.delete(ask_id);
    if (decision === "approved") this.#tickets.get(ticket_id)?.commands.push(...commands);
  }

  #followEffects({ record, integrity }: LogRecord): void {
    for (const { ticket_id, from, event, to } of record.effects ?? []) {
      const ticket = this.#tickets.get(ticket_id);
      if (!ticket) continue;
      if (from !== null && from !== ticket.status) {
        this.#violated(
          "effects follow each other",
          `${ticket_id} is ${ticket.status}, record ${integrity.sequence} says ${from}`,
        );
      }
      ticket.status = to;
      if (event === "report_completed") ticket.checked = undefined;
      if (to !== "done") continue;
      ticket.done += 1;
      if (ticket.done > 1) this.#violated("a ticket is done once", ticket_id);
      for (const command of ticket.commands) {
        const said = ticket.checked?.get(command.join(" "));
        const found = this.#world.findings.lastResult(ticket_id, command);
        if (said !== true || found !== true) {
          this.#violated(
            "no ticket is done against a failed criterion",
            `${ticket_id}: ${command.join(" ")} is ${said}/${found}`,
          );
        }
      }
    }
  }

  #checked({ results }: JsonObject, ticket_id: string | undefined): void {
    const ticket = this.#tickets.get(ticket_id ?? "");
    if (!ticket || ticket_id === undefined) return;
    ticket.checked = new Map();
    for (const { criterion, exit_code, passed } of results as {
      criterion: { command: string[] };
      exit_code: number | null;
      passed: boolean;
    }[]) {
      const command = criterion.command.join(" ");
      ticket.checked.set(command, passed);
      // A command that was ended, or never begun, has not passed.
      const found = exit_code === null ? false : this.#world.findings.lastResult(ticket_id, criterion.command);
      if (passed !== found)
        this.#violated("a check says what it found", `${ticket_id}: ${command} is ${passed}/${found}`);
    }
  }

  #violated(invariant: string, seen: string): void {
    this.#world.violated(invariant, seen);
  }
}

/** Whether a record is the engine's note of a refused line, which ends no turn. */
function isNote({ source, payload_type, record }: LogRecord): boolean {
  return source === "scheduler" && payload_type === "error" && record.disposition !== "applied";
}

function commandsOf(criteria: unknown): string[][] {
  const list = (criteria ?? []) as { command?: string[] }[];
  return list.flatMap(({ command }) => (command ? [command] : []));
}

/** A record as one line, without paths of this machine. */
function describe({ integrity, source, payload_type, payload, record }: LogRecord): string {
  const { ticket_id, turn_id, run, disposition, effects = [] } = record;
  const words = [
    payload["status"],
    payload["decision"],
    payload["code"],
    payload["reason"],
    payload["command"],
    payload["timer_id"],
    typeof payload["message"] === "string" ? `"${payload["message"].slice(0, 60)}"` : undefined,
  ];
  const message = payload["message"] as { payload_type?: string } | undefined;
  const arrows = effects.map((effect) => `[${effect.ticket_id} ${effect.from}>${effect.to} ${effect.event}]`);
  return [
    `#${integrity.sequence}`,
    `${source}:${payload_type}`,
    ...words.filter((word) => typeof word === "string"),
    message?.payload_type,
    ticket_id,
    turn_id && `${turn_id}.${run ?? ""}`,
    disposition === "applied" ? undefined : disposition,
    ...arrows,
  ]
    .filter((word) => word !== undefined)
    .join(" ");
}
