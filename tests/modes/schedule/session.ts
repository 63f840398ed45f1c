import type { JsonObject } from "../../../src/lib/json.ts";
import { scheduleMode } from "../../../src/modes/schedule/mode.ts";
import type { ScheduleState, Ticket } from "../../../src/modes/schedule/state.ts";
import type { PayloadByType } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { ModeSession, type Opening, PERSON } from "../kit.ts";
import { SCHEDULE_RULES } from "./rules.ts";

export type Task = NonNullable<PayloadByType["plan"]["tasks"]>[number];

export const CREW: readonly Role[] = [
  { role_id: "boss", type: "manager", backend: "scripted" },
  { role_id: "hand", type: "worker", backend: "scripted", capabilities: ["coding"] },
  { role_id: "eye", type: "worker", backend: "scripted", capabilities: ["research"] },
];

export const INSTRUCTION = { summary: "Do it so" };
export const COMPLETED = { status: "completed" } as const;
export const APPROVED = { decision: "approved" } as const;
export const CHANGES = { decision: "changes_requested" } as const;

/** A configuration in which proposals are discussed in a debate. */
export const DEBATE = { mode: "debate", input: { debaters: ["one", "two"], judge: "boss" } };

export function task(task_id: string, more: Partial<Task> = {}): Task {
  return { task_id, description: `Do ${task_id}`, ...more };
}

/** An executable criterion. */
export function runs(...command: readonly string[]) {
  return { text: `${command.join(" ")} passes`, command };
}

/** A clarification that asks these questions. */
export function asking(...ids: readonly string[]) {
  return {
    questions: ids.map((question_id) => ({ question_id, text: `What of ${question_id}?` })),
    status: "open",
  } as const;
}

/** What an envelope is about. */
export function about(subject: string | undefined): { subject?: string } {
  return subject === undefined ? {} : { subject };
}

export type Options = Partial<Opening> & {
  /** Set if tickets work in copies of a repository. */
  readonly copies?: boolean;
};

/** In place of every commit. */
const COMMIT = "c".repeat(40);

/** A session of the schedule mode: the kit, and the vocabulary of tickets. */
export class ScheduleSession extends ModeSession<ScheduleState> {
  constructor({ roles = CREW, copies = false, ...opening }: Options = {}) {
    const repository = { root: "/project", base: COMMIT, trusted: false };
    super(scheduleMode, SCHEDULE_RULES, { roles, ...opening, ...(copies ? { repository } : {}) });
  }

  override answer(...[subject, type, payload, usage]: Parameters<ModeSession<ScheduleState>["answer"]>): this {
    const delivers = "repository" in this.opening && "status" in payload && payload.status === "completed";
    return super.answer(subject, type, payload, usage, delivers ? { commit: COMMIT, start: COMMIT } : undefined);
  }

  override finishChecks(subject: string, ...passed: readonly boolean[]): this {
    if (!this.#mergeOf(subject)) return super.finishChecks(subject, ...passed);
    return this.finishMerge(subject, passed.every(Boolean) ? "merged" : "failed");
  }

  #mergeOf(subject: string) {
    return [...this.engine.ledger.checks.values()].find((one) => one.subject === subject && one.merge);
  }

  /** The runtime has merged a ticket's work, or not. */
  finishMerge(ticket_id: string, state: "merged" | "conflict" | "failed"): this {
    const checks = this.#mergeOf(ticket_id);
    if (!checks) throw new Error(`nothing of ${ticket_id} is being merged`);
    const { check_id } = checks;
    const its = about(ticket_id);
    if (state === "merged")
      this.submit("scheduler", "merge_begun", { check_id, ticket_id, commit: COMMIT, tip: COMMIT }, its);
    const result = { criterion: "it merges", exit_code: null, passed: state !== "conflict", output: "" };
    const failed = state === "failed" ? [{ ...result, passed: false, output: `record ${this.records.length}` }] : [];
    const merge = { state, tip: COMMIT, commit: COMMIT };
    return this.submit("scheduler", "check_result", { check_id, results: [result, ...failed], merge }, its);
  }

  /** A person hands in the work on a ticket. */
  give(ticket_id: string | undefined): this {
    const payload = { status: "completed", ...(ticket_id === undefined ? {} : { ticket_id }) };
    const work = { commit: COMMIT, start: COMMIT };
    return this.submit("user", "report", payload, { ...about(ticket_id), actor: PERSON, work });
  }

  requirement(text = "Mend it"): this {
    return this.send("requirement", { text });
  }

  /** The requirement, and the manager's plan for it. */
  plan(...tasks: readonly Task[]): this {
    return this.requirement().replan(undefined, ...tasks);
  }

  instruct(id: string): this {
    return this.answer(id, "instruction", INSTRUCTION);
  }

  /** The worker reports the ticket as completed. */
  deliver(id: string): this {
    return this.answer(id, "report", COMPLETED);
  }

  approve(id: string): this {
    return this.answer(id, "review", APPROVED);
  }

  /** The manager asks for changes. */
  sendBack(id: string): this {
    return this.answer(id, "review", CHANGES);
  }

  /** The worker reports that it is stuck, with questions or without. */
  block(id: string, ...questions: readonly string[]): this {
    const asked = questions.length > 0 ? { questions: asking(...questions).questions } : {};
    return this.answer(id, "report", { status: "blocked", ...asked });
  }

  /** The manager asks a person, in a turn about the ticket or about the session. */
  ask(id: string | undefined, ...questions: readonly string[]): this {
    return this.answer(id, "clarification", asking(...questions));
  }

  /** The manager answers its turn about a ticket, or about the session, with a plan. */
  replan(id: string | undefined, ...tasks: readonly Task[]): this {
    return this.answer(id, "plan", { tasks });
  }

  /** The agent that has the turn gives up. */
  giveUp(id?: string): this {
    return this.answer(id, "error", { code: "agent_failed", message: "I cannot" });
  }

  /** Tickets are instructed, delivered and approved, one after the other. */
  complete(...ids: readonly string[]): this {
    for (const id of ids) this.instruct(id).deliver(id).approve(id);
    return this;
  }

  ticket(id: string): Ticket {
    const ticket = this.state.tickets.get(id);
    if (!ticket) throw new Error(`there is no ticket ${id}`);
    return ticket;
  }

  /** A ticket's status, as `status (reason)`. */
  status(id: string): string {
    const { status, reason } = this.ticket(id);
    return reason === undefined ? status : `${status} (${reason})`;
  }

  /** How the session ended, as `outcome reason`, and each ticket in the final report, as `status reason by blocker`. */
  get report(): {
    readonly ended: string;
    readonly tickets: Readonly<Record<string, string>>;
    readonly whole: JsonObject;
  } {
    if (!this.ended) throw new Error("the session has not ended");
    const { outcome, reason, report } = this.ended;
    const { tickets } = report as unknown as PayloadByType["final_report"];
    const lines = tickets.map(({ ticket_id, status, reason: why, blocked_by = [] }) => {
      const words = [status, why, ...blocked_by.map((id) => `by ${id}`)];
      return [ticket_id, words.filter((word) => word !== undefined).join(" ")];
    });
    return {
      ended: [outcome, reason].filter(Boolean).join(" "),
      tickets: Object.fromEntries(lines) as Record<string, string>,
      whole: report,
    };
  }
}

export function schedule(options: Options = {}): ScheduleSession {
  return new ScheduleSession(options);
}

/** Ticket `a` failed, and the manager holds an error turn about it. */
export function escalated(opening: Options, ...tasks: readonly Task[]): ScheduleSession {
  const config = { max_retries: 0, ...opening.config };
  const session = schedule({ ...opening, config }).plan(...tasks);
  if (session.phase === "approving") session.send("approval", APPROVED);
  return session.instruct("a").fail("a");
}
