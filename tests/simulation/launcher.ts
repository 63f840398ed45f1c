import { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { Launched, Launcher, LaunchSpec } from "../../src/agents/launcher.ts";
import type { ProcessIdentity } from "../../src/kernel/agent.ts";
import { WITNESSED } from "../../src/agents/gate.ts";
import { err, ok } from "../../src/lib/result.ts";
import { failure, type Fallible } from "../../src/protocol/failure.ts";
import type { Exit, SimulatedProcess } from "./processes.ts";
import { randomOf } from "./random.ts";
import type { Scheduler } from "./scheduler.ts";
import type { World } from "./world.ts";

/** What an executable criterion finds. It depends on the last attempt at its subject. */
function finding(world: World, subject: string | undefined, command: readonly string[]): "passes" | "fails" | "hangs" {
  const { scenario, findings } = world;
  const attempt = findings.lastAttempt(subject);
  const random = scenario.comparable
    ? randomOf(scenario.seed, "probe", subject ?? "", ...command, attempt)
    : world.chance;
  if (random.chance(0.02)) return "hangs";
  return random.chance(Math.min(0.97, scenario.skill + 0.15 * (attempt - 1))) ? "passes" : "fails";
}

/** The launcher of the simulation: runs checks in virtual time, and ends processes that dead schedulers left behind. */
export function simulatedLauncher(world: World, scheduler: Scheduler): Launcher {
  return {
    launch: (spec) => (scheduler.isDead ? new Promise(() => {}) : scheduler.hears(launch(world, spec, scheduler))),
    endLeftovers: (identities, grace_ms) =>
      scheduler.isDead ? new Promise(() => {}) : scheduler.hears(endLeftovers(world, identities, grace_ms)),
  };
}

async function endLeftovers(
  world: World,
  identities: readonly ProcessIdentity[],
  grace_ms: number,
): Promise<readonly ProcessIdentity[]> {
  const left = identities.flatMap((identity) => world.processes.find(identity) ?? []);
  if (left.length === 0) return [];
  if (!world.isCalm && world.chance.chance(0.02)) return left;
  const gone = Promise.withResolvers<void>();
  world.time.after(world.chance.between(1, grace_ms), () => {
    for (const process of left) world.processes.end(process, { code: null, signal: "SIGTERM" });
    gone.resolve();
  });
  await gone.promise;
  return [];
}

async function launch(
  world: World,
  { command, environment }: LaunchSpec,
  scheduler: Scheduler,
): Promise<Fallible<Launched>> {
  const probed = command.slice(command.indexOf("probe"));
  const subject = environment["BOSUN_TICKET_ID"];
  if (!world.isCalm && !world.scenario.comparable && world.chance.chance(0.01)) {
    world.findings.found(subject, probed, false);
    return err(failure("environment", "Cannot start the probe."));
  }
  if (world.isAway(undefined)) return err(failure("unavailable", "Cannot start another process."));
  const process = world.processes.spawn({
    session_id: environment["BOSUN_SESSION_ID"] ?? "",
    kind: "check",
    who: probed.join(" "),
    subject,
    inside: false,
    owner: scheduler,
  });
  return ok(launched(world, process, scheduler));
}

function launched(world: World, process: SimulatedProcess, scheduler: Scheduler): Launched {
  const probed = process.who.split(" ");
  const { processes, time, chance } = world;
  const exited = Promise.withResolvers<Exit>();
  const streams = [new Pipe(), new Pipe()] as const;
  const tell = (exit: Exit) => {
    for (const stream of streams) stream.close();
    exited.resolve(exit);
  };
  // The objects of a dead scheduler must hear of it too, so that they clear their timers. They reach nothing else.
  process.onEnd.push((exit) => (scheduler.isDead ? tell(exit) : scheduler.deliver(() => tell(exit))));
  const work = () => {
    if (!processes.give(process)) return;
    const found = finding(world, process.subject, probed);
    time.after(found === "hangs" ? 20_000 : chance.between(1, 800), () => {
      if (!process.alive) return;
      world.findings.found(process.subject, probed, found === "passes");
      world.log(() => `${process.subject} ${probed.join(" ")} ${found}`);
      if (found === "passes" && !scheduler.isDead)
        scheduler.deliver(() => streams[0].emit("data", Buffer.from(`${probed.join(" ")} found it.\n`)));
      // The command ends, not the gate in front of it.
      const exit = { passes: WITNESSED, fails: 1, hangs: null }[found];
      processes.end(process, { code: exit, signal: exit === null ? "SIGKILL" : null });
    });
  };
  return {
    identity: { pid: process.pid, started: process.started },
    stdin: { write: () => true, end: work } as unknown as Writable,
    stdout: streams[0] as unknown as Readable,
    stderr: streams[1] as unknown as Readable,
    exited: exited.promise,
    signalGroup: (signal) => {
      if (signal === "SIGTERM" || signal === "SIGKILL") {
        time.after(chance.between(0, 500), () => processes.end(process, { code: null, signal }));
      }
    },
    groupLives: () => process.alive,
    findEscaped: () => {},
    destroyPipes: () => {},
  };
}

/** The part of a stream that supervision uses. */
class Pipe extends EventEmitter {
  pause(): this {
    return this;
  }

  resume(): this {
    return this;
  }

  close(): void {
    this.emit("end");
    this.emit("close");
  }
}
