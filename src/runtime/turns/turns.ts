import type { Permission, ProcessIdentity, TurnRequest } from "../../kernel/agent.ts";
import { stampOf } from "../../kernel/ledger.ts";
import type { Fact } from "../../kernel/mode.ts";
import { waitsForPermission } from "../../kernel/permissions.ts";
import { isCut, resolve } from "../../kernel/references.ts";
import { crashPoint } from "../../lib/crash-point.ts";
import { defined, type JsonObject, listOf, objectOf } from "../../lib/json.ts";
import { ok } from "../../lib/result.ts";
import { attempt } from "../../log/attempt.ts";
import { isOfStorage } from "../../protocol/failure.ts";
import type { PayloadByType } from "../../protocol/payload.ts";
import { withoutHeldOut } from "../../protocol/held-out.ts";
import { cut } from "../../protocol/refusal.ts";
import { roleIn } from "../../protocol/roles.ts";
import type { Instant } from "../../protocol/timestamp.ts";
import type { Admission } from "../admission/dispatcher.ts";
import type { SessionContext } from "../context.ts";
import { copyOf } from "../copies/copies.ts";
import { delivered } from "../copies/deliver.ts";
import { prepareCopy } from "../copies/prepare.ts";
import type { FactInput } from "../facts.ts";
import { withCause } from "./away.ts";
import { ENDED, MAX_LINE, Permissions } from "./permissions.ts";
import { eventAbout, TurnEventHandler } from "./turn-events.ts";
import { longerThanALine } from "../admission/turn-request.ts";
import { factOf, factOfCutOff } from "./turn-result.ts";

interface RunningTurn {
  readonly controller: AbortController;
  readonly over: Promise<void>;
}

/** A running turn whose agent takes notes while it works. */
interface HearingTurn {
  readonly subject: string | undefined;
  readonly take: (note: string) => void;
}

/** Carries out turns, from the durable request to the fact of how each ended. */
export class Turns {
  readonly #context: SessionContext;
  readonly #over: (turn_id: string) => void;
  readonly #running = new Map<string, RunningTurn>();
  readonly #hearing = new Map<string, HearingTurn>();
  readonly #events: TurnEventHandler;
  readonly #permissions: Permissions;
  /** Whether a person may answer while the session runs. */
  forPeople = true;
  #ending = false;

  /** `over` is called when a turn's agent is gone, with or without an answer. */
  constructor(context: SessionContext, over: (turn_id: string) => void) {
    this.#context = context;
    this.#over = over;
    this.#events = new TurnEventHandler(context);
    this.#permissions = new Permissions(context);
  }

  get count(): number {
    return this.#running.size;
  }

  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all([...this.#running.values()].map((running) => running.over));
  }

  abort(turn_id: string, reason: string): void {
    this.#hearing.delete(turn_id);
    this.#running.get(turn_id)?.controller.abort(reason);
  }

  /** Ends all running turns. Admitted turns that have not started stay open and unstarted. */
  abortAll(): void {
    this.#ending = true;
    this.#hearing.clear();
    for (const running of this.#running.values()) running.controller.abort("the session is stopping");
  }

  /** Whether turns run that all wait for a permission. */
  get onlyWait(): boolean {
    const { ledger } = this.#context;
    return this.count > 0 && [...this.#running.keys()].every((turn_id) => waitsForPermission(ledger, turn_id));
  }

  /** Passes a durable decision to the program that waits for it. */
  permit(ask_id: string, { granted, notes }: Permission): void {
    this.#permissions.decide(ask_id, { granted, ...defined({ notes }) });
  }

  /** Has a person's note told, once it is durable, to the running turns that it is for. Returns those whose agents take it. */
  tell(fact: Fact): string[] | undefined {
    if (fact.payload_type !== "user_command" || fact.payload.command !== "tell") return undefined;
    const { text = "" } = fact.payload;
    const hearing = [...this.#hearing].filter(([, { subject }]) => [undefined, subject].includes(fact.subject));
    if (hearing.length === 0) return undefined;
    const told = hearing.map(([turn_id]) => turn_id);
    // A turn that ends meanwhile takes it no more.
    this.#context.afterCommit(() => told.forEach((turn_id) => this.#hearing.get(turn_id)?.take(text)));
    return told;
  }

  /** Starts a turn whose request is durable. */
  start(admission: Admission, recorded: JsonObject, at: Instant): void {
    if (this.#ending) return;
    const { turn_id } = admission.turn;
    const controller = new AbortController();
    const over = this.#carryOut(admission, recorded, at, controller.signal)
      .catch((error: unknown) => this.#context.broken(error))
      .finally(() => {
        this.#running.delete(turn_id);
        this.#hearing.delete(turn_id);
        this.#over(turn_id);
      });
    this.#running.set(turn_id, { controller, over });
  }

  async #carryOut(admission: Admission, recorded: JsonObject, at: Instant, signal: AbortSignal): Promise<void> {
    const { turn, role, slot } = admission;
    const stamp = stampOf(turn);
    const { session_id, mode, records, paths, config, agentFor } = this.#context;
    const resolved = attempt(paths.folder, () => ok(resolve(recorded, records)), "A file for the agent");
    if (!resolved.ok) return this.#context.fail(resolved.error);
    const told = role.type === "worker" ? withoutHeldOut(resolved.value ?? null) : resolved.value;
    const payload = told as unknown as PayloadByType["turn_request"];
    let handled: Promise<void> = Promise.resolve();
    let isStarted = false;
    const denied: string[] = [];
    const request: TurnRequest = {
      session_id,
      mode: mode.name,
      at,
      role: roleIn(role, payload.message.payload_type),
      crew: this.#context.roles,
      unattended: !this.forPeople,
      stamp,
      payload,
      timeout_ms: (role.timeout_s ?? config.timeout_s) * 1000,
      idle_timeout_ms: (role.idle_timeout_s ?? config.idle_timeout_s) * 1000,
      slot,
      output_directory: paths.output,
      ...continuedConversation(payload.conversation),
    };
    const tooLong = isCut(recorded["message"]) ? longerThanALine(payload) : undefined;
    if (tooLong) {
      this.#emitStarted(request);
      this.#context.submit(factOf({ failure: tooLong, refused: [] }, request, this.#context.mode));
      return this.#ended(request, false);
    }
    const prepared = await prepareCopy(this.#context, copyOf(this.#context, request), signal);
    if (!prepared.ok && isOfStorage(prepared.error)) return this.#context.fail(prepared.error);
    if (!prepared.ok) {
      this.#emitStarted(request);
      if (!signal.aborted)
        this.#context.submit(factOf({ failure: prepared.error, refused: [] }, request, this.#context.mode));
      return this.#ended(request, false);
    }
    const run = this.#events.begin(request, signal);
    const ended = await agentFor(role).turn(request, {
      signal,
      started: (identity) => {
        if (!isStarted) this.#emitStarted(request, identity?.pid);
        isStarted = true;
        return this.#started(identity, request);
      },
      emit: (event) => {
        // Handled in order. An exception ends the session at once, not only when the turn has ended.
        handled = handled
          .then(() => this.#events.handle(event, run))
          .catch((error: unknown) => this.#context.broken(error));
      },
      secrets: this.#context.secrets,
      permit: async (asked) => {
        const permission = await this.#permissions.ask(asked, request, signal);
        if (!permission.granted && permission !== ENDED)
          denied.push(
            cut(`Denied: ${asked.action} (${permission.notes ?? "without a word"})`.toWellFormed(), MAX_LINE),
          );
        return permission;
      },
      hear: (take) => {
        if (take && !signal.aborted) this.#hearing.set(stamp.turn_id, { subject: stamp.subject, take });
        else this.#hearing.delete(stamp.turn_id);
      },
    });
    this.#permissions.over(stamp);
    await handled;
    const result = await delivered(this.#context, request, ended);
    if (result.failure && isOfStorage(result.failure)) return this.#context.fail(result.failure);
    crashPoint("answer_held");
    // A withdrawn turn submits nothing unless its answer was already there. An answer counts only together with the files before it: without them
    // the turn stays open and runs again.
    const isLess = run.missed && this.#context.ledger.turns.has(stamp.turn_id);
    if (!isStarted) this.#emitStarted(request);
    const isCutOff = result.answer ? isLess : signal.aborted;
    const fact = isCutOff
      ? factOfCutOff(result, request)
      : factOf(withCause(result, request, this.#context.ledger), request, this.#context.mode);
    if (fact) this.#context.submit(withDenied(fact, denied.slice(0, MAX_DENIED)));
    if (!isCutOff && run.conversing) void this.#context.keep({ drop: "conversing", id: stamp.turn_id });
    this.#ended(request, isStarted);
  }

  /** Resolves once the turn and its process are on record as running. */
  async #started(identity: ProcessIdentity | undefined, request: TurnRequest): Promise<void> {
    crashPoint("turn_spawned");
    const { turn_id, run } = request.stamp;
    if (!(await this.#context.keep({ put: "process", id: turn_id, value: { ...identity, run } }))) {
      throw new Error("the process could not be put on record");
    }
    crashPoint("turn_pid_committed");
  }

  #emitStarted(request: TurnRequest, pid?: number): void {
    this.#context.bus.emit({ kind: "turn_started", ...eventAbout(request), ...defined({ pid }) });
  }

  /** Emits the end of the agent, after the record of the turn's end. */
  #ended(request: TurnRequest, isStarted: boolean): void {
    const { turn_id } = request.stamp;
    const recorded = isStarted
      ? this.#context.keep({ drop: "process", id: turn_id })
      : new Promise<void>((resolve) => this.#context.afterCommit(resolve));
    recorded
      .then(() => this.#context.bus.emit({ kind: "turn_ended", ...eventAbout(request) }))
      .catch((error: unknown) => this.#context.broken(error));
  }
}

/** The most denials among the 1,000 issues of a report. */
const MAX_DENIED = 10;

/** Adds to the issues of a report what its worker was not allowed to do: whoever reviews it should know. */
function withDenied(fact: FactInput, denied: readonly string[]): FactInput {
  if (fact.payload_type !== "report" || denied.length === 0) return fact;
  const payload = objectOf(fact.payload);
  return {
    ...fact,
    payload: { ...payload, issues: [...listOf(payload.issues).slice(0, 1000 - denied.length), ...denied] },
  };
}

function continuedConversation(
  chosen: PayloadByType["turn_request"]["conversation"],
): Pick<TurnRequest, "conversation"> {
  if (chosen?.id === undefined || chosen.how === "alone") return {};
  const { how, id, tokens, total } = chosen;
  return { conversation: { how, id, ...defined({ tokens, total }) } };
}
