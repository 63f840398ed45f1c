import type { Agent, TurnContext, TurnEvent, TurnRequest, TurnResult } from "../../src/kernel/agent.ts";
import { failure } from "../../src/protocol/failure.ts";
import type { Role } from "../../src/protocol/roles.ts";
import type { Crew } from "./crew.ts";
import type { Exit, SimulatedProcess } from "./processes.ts";
import type { Scheduler } from "./scheduler.ts";
import type { World } from "./world.ts";

/** How a turn goes, once its agent was given the request. */
export interface Conduct {
  /** Until it has answered, in ms of virtual time; it never does if this is infinite. */
  readonly takes_ms: number;
  /** What it says before the answer. */
  readonly says: readonly TurnEvent[];
  readonly result: TurnResult;
  /** How long its program lives on after the answer, in ms. */
  readonly lingers_ms: number;
  /** What it says when its turn has ended already. */
  readonly afterwards?: TurnEvent;
  /** Called off, it answers all the same before it is gone. */
  readonly stubborn: boolean;
}

export type AgentOf = (role: Role, scheduler: Scheduler) => Agent;

/** Agents of every role, each turn carried by a process that outlives a scheduler that dies. */
export function agentsOf(world: World, crew: Crew): AgentOf {
  return (role, scheduler) => ({
    turn: (request, context) => takeTurn(world, crew, scheduler, role, request, context),
  });
}

async function takeTurn(
  world: World,
  crew: Crew,
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
  world.tell(
    () => `${role.role_id} begins ${world.nameOf(session_id)}${turn_id}.${request.stamp.run} ${subject ?? ""}`,
  );
  const settled = Promise.withResolvers<TurnResult>();
  const settle = (result: TurnResult) => scheduler.deliver(() => settled.resolve(result));
  let said = false;
  let unsaid = conduct.says.length;
  process.onEnd.push((exit) => {
    if (exit.code === 0) return;
    const answer = said && conduct.result.answer ? { answer: conduct.result.answer } : {};
    settle({ ...answer, failure: failure("agent_failed", "It was killed."), refused: [], exit });
  });

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
  // At the very moment of its time-out an answer is in time, so that no order of things that are due at once decides about it.
  const isInTime = conduct.takes_ms <= request.timeout_ms;
  time.after(request.timeout_ms, () =>
    scheduler.deliver(() => {
      if (!process.alive || said || isInTime) return;
      void ends(world, process);
      settleWhenGone(process, () =>
        settle({ failure: failure("timeout", "It took too long."), refused: [], exit: killed() }),
      );
    }),
  );
  const callOff = () => {
    const isFit = conduct.result.answer !== undefined && conduct.result.failure === undefined;
    // What would have come to nothing by itself comes to nothing.
    const answers = isFit && (said || (conduct.stubborn && isInTime && chance.chance(0.5) && unsaid === 0));
    settleWhenGone(process, () => settle({ ...(answers ? conduct.result : {}), ...cancelled(), exit: killed() }));
    void ends(world, process);
  };
  context.signal.addEventListener("abort", callOff, { once: true });
  return settled.promise;
}

/** Its result is settled by what ended it, and before anything else that its end would say. */
function settleWhenGone(process: SimulatedProcess, settle: () => void): void {
  if (process.alive) process.onEnd.unshift(settle);
  else settle();
}

/** Ends a process as SIGTERM does: soon. */
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
