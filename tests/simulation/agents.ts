import type { Agent, TurnContext, TurnEvent, TurnRequest, TurnResult } from "../../src/kernel/agent.ts";
import { failure } from "../../src/protocol/failure.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { Crew } from "./crew.ts";
import type { Exit, SimulatedProcess } from "./processes.ts";
import type { Scheduler } from "./scheduler.ts";
import type { World } from "./world.ts";

/** What an agent does in a turn. */
export interface Conduct {
  /** How long until it answers, in ms of virtual time; infinite if it never does. */
  readonly takes_ms: number;
  /** What it asks a permission for before it begins; whatever the decision, it goes on. */
  readonly asks?: string;
  /** The events before its answer. */
  readonly says: readonly TurnEvent[];
  readonly result: TurnResult;
  /** How long its process lives after the answer, in ms. */
  readonly lingers_ms: number;
  /** An event after its turn has ended. */
  readonly afterwards?: TurnEvent;
  /** When it is aborted, it still answers before it ends. */
  readonly stubborn: boolean;
}

export type AgentOf = (role: Role, scheduler: Scheduler) => Agent;

/** The agents of all roles. Each turn runs in a process that outlives its scheduler. */
export function agentsOf(world: World, crew: Pick<Crew, "conduct">): AgentOf {
  return (role, scheduler) => ({
    turn: (request, context) => takeTurn(world, crew, scheduler, role, request, context),
  });
}

async function takeTurn(
  world: World,
  crew: Pick<Crew, "conduct">,
  scheduler: Scheduler,
  role: Role,
  request: TurnRequest,
  context: TurnContext,
): Promise<TurnResult> {
  if (scheduler.isDead) return new Promise(() => {});
  if (context.signal.aborted) return cancelled();
  const { processes, chance, time } = world;
  const { session_id } = request;
  const { turn_id, subject, attempt } = request.stamp;
  const inside = role.backend === "scripted";
  const owner = scheduler;
  const process = processes.spawn({
    session_id,
    kind: role.type,
    who: role.role_id,
    subject,
    turn_id,
    attempt,
    inside,
    owner,
  });
  if (!inside) {
    if (world.mayDie("spawned")) scheduler.die();
    const recorded = await context.started({ pid: process.pid, started: process.started }).then(
      () => true,
      () => false,
    );
    if (!recorded || context.signal.aborted) {
      await scheduler.hears(ends(world, process));
      return recorded
        ? cancelled()
        : { failure: failure("internal", "The start could not be recorded."), refused: [], exit: killed() };
    }
    if (!process.alive) return { failure: failure("agent_failed", "It was ended."), refused: [], exit: killed() };
  }
  if (request.payload.message.payload_type === "instruction" && subject !== undefined) {
    world.findings.worked(subject, attempt);
  }
  processes.give(process);
  const conduct = crew.conduct(request);
  world.log(() => `${role.role_id} begins ${world.nameOf(session_id)}${turn_id}.${request.stamp.run} ${subject ?? ""}`);
  const settled = Promise.withResolvers<TurnResult>();
  const settle = (result: TurnResult) => scheduler.deliver(() => settled.resolve(result));
  let said = false;
  let unsaid = conduct.says.length;
  process.onEnd.push((exit) => {
    if (exit.code === 0) return;
    const answer = said && conduct.result.answer ? { answer: conduct.result.answer } : {};
    settle({ ...answer, failure: failure("agent_failed", "It was killed."), refused: [], exit });
  });

  // An answer at the very moment of the time-out is in time, so that the order of simultaneous events does not matter.
  const isInTime = conduct.takes_ms <= request.timeout_ms;
  const goOn = () => {
    for (const [index, event] of conduct.says.entries()) {
      const share = (index + 1) / (conduct.says.length + 1);
      time.after(Math.min(conduct.takes_ms, 1000) * share, () => {
        if (!process.alive) return;
        unsaid -= 1;
        scheduler.deliver(() => context.emit(event));
      });
    }
    if (Number.isFinite(conduct.takes_ms)) {
      time.after(conduct.takes_ms, () => {
        if (!process.alive) return;
        said = true;
        time.after(conduct.lingers_ms, () => {
          if (!process.alive) return;
          processes.end(process, { code: 0, signal: null });
          settle(conduct.result);
          const { afterwards } = conduct;
          if (afterwards) time.after(chance.between(0, 300), () => scheduler.deliver(() => context.emit(afterwards)));
        });
      });
    }
    time.after(request.timeout_ms, () =>
      scheduler.deliver(() => {
        if (!process.alive || said || isInTime) return;
        void ends(world, process);
        settleWhenGone(process, () =>
          settle({ failure: failure("timeout", "It took too long."), refused: [], exit: killed() }),
        );
      }),
    );
  };
  const callOff = () => {
    const isFit = conduct.result.answer !== undefined && conduct.result.failure === undefined;
    // A turn that would fail by itself fails.
    const answers = isFit && (said || (conduct.stubborn && isInTime && chance.chance(0.5) && unsaid === 0));
    settleWhenGone(process, () => settle({ ...(answers ? conduct.result : {}), ...cancelled(), exit: killed() }));
    void ends(world, process);
  };
  context.signal.addEventListener("abort", callOff, { once: true });
  if (conduct.asks === undefined) goOn();
  else {
    process.lent = true;
    void context.permit({ action: conduct.asks }).then(goOn);
  }
  return settled.promise;
}

/** Settles a turn's result by what ended it, before the end of its process is noticed. */
function settleWhenGone(process: SimulatedProcess, settle: () => void): void {
  if (process.alive) process.onEnd.unshift(settle);
  else settle();
}

/** Ends a process as SIGTERM does: after a short time. */
async function ends(world: World, process: SimulatedProcess): Promise<void> {
  const gone = Promise.withResolvers<void>();
  const { chance, processes, time } = world;
  time.after(chance.between(0, 1500), () => {
    processes.end(process, killed());
    gone.resolve();
  });
  await gone.promise;
}

function killed(): Exit {
  return { code: null, signal: "SIGTERM" };
}

function cancelled(): TurnResult {
  return { failure: failure("cancelled", "The turn was called off."), refused: [] };
}
