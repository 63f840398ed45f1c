import { describe, expect, it } from "vitest";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import type { LogRecord } from "../../src/protocol/record.ts";
import { crew, instructed, report, task } from "../runtime/crew.ts";
import { newRig } from "../runtime/rig.ts";
import { cli, REPORT, withWorker } from "../runtime/roles.ts";
import { begin, DONE, logOf, reportOf, run } from "../runtime/sessions.ts";

const TASKS = 300;
const WORKERS = 2;

/** mulberry32: the same numbers for the same seed, everywhere. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Tasks of which each depends on up to three of the thirty before it; told in an order of its own. */
function randomPlan(seed: number): { id: string; depends_on: string[] }[] {
  const next = random(seed);
  const nodes = Array.from({ length: TASKS }, (_, n) => {
    const count = n === 0 ? 0 : Math.floor(next() * 4);
    const first = Math.max(0, n - 30);
    const depends_on = new Set(Array.from({ length: count }, () => `t${first + Math.floor(next() * (n - first))}`));
    return { id: `t${n}`, depends_on: [...depends_on] };
  });
  return nodes
    .map((node) => ({ node, at: next() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ node }) => node);
}

type Plan = ReturnType<typeof randomPlan>;

/** Held against the records alone: no work before what it depends on is done. Gives how many worked at once. */
function expectOrder(log: readonly LogRecord[], plan: Plan): number {
  const done = new Set<string>();
  const working = new Set<unknown>();
  const dependencies = new Map(plan.map(({ id, depends_on }) => [id, depends_on]));
  const early: string[] = [];
  let most = 0;
  for (const { payload_type, payload, record } of log) {
    const id = record.ticket_id ?? "";
    const isWork = payload["role_id"] === "hand";
    if (payload_type === "turn_request" && isWork) {
      working.add(record.turn_id);
      for (const dependency of dependencies.get(id) ?? [])
        if (!done.has(dependency)) early.push(`${id} before ${dependency}`);
    }
    if (payload_type === "report") working.delete(record.turn_id);
    most = Math.max(most, working.size);
    for (const { ticket_id, to } of record.effects ?? []) if (to === "done") done.add(ticket_id);
  }
  expect(early).toEqual([]);
  expect(done.size).toBe(TASKS);
  return most;
}

function longestChain(plan: Plan): number {
  const depths = new Map<string, number>();
  for (const { id, depends_on } of plan.toSorted((a, b) => Number(a.id.slice(1)) - Number(b.id.slice(1)))) {
    depths.set(id, 1 + Math.max(0, ...depends_on.map((dependency) => depths.get(dependency) ?? 0)));
  }
  return Math.max(...depths.values());
}

const CONFIG = { max_workers: WORKERS, budget: {} };

describe(`a plan of ${TASKS} tasks and ${WORKERS} workers`, () => {
  const seed = Number(process.env["BOSUN_SEED"] ?? 20_261_122);
  const plan = randomPlan(seed);

  it(`runs in dependency order with requests of constant size (seed ${seed})`, async () => {
    const rig = newRig();
    const sizes: number[] = [];
    const measure = ({ payload }: TurnRequest) => {
      const { ticket: _, history: __, dependencies: ___, ...rest } = payload.context;
      sizes.push(JSON.stringify({ ...payload, message: null, context: rest }).length);
      return report({ summary: `${payload.turn_id} is done.`, outputs: ["a file"] });
    };
    const tasks = plan.map(({ id, depends_on }) => task(id, depends_on));
    const session = await begin(rig, { config: CONFIG, agentFor: crew(tasks, { instruction: measure }) });
    expect(await run(session)).toEqual(DONE);
    expect(expectOrder(logOf(rig, session.session_id), plan)).toBeLessThanOrEqual(WORKERS);
    expect(sizes).toHaveLength(TASKS);
    // Numbers have more digits later; nothing else may be more. The first has no status of others to tell.
    expect((sizes.at(-1) ?? 0) - (sizes[0] ?? 0)).toBeLessThan(120);
    expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThan(160);
    expect(reportOf(rig, session.session_id)).toMatchObject({ usage: { turns: 1 + 3 * TASKS } });
  });

  it("runs in dependency order with programs", async () => {
    const rig = newRig();
    const roles = withWorker(`sleep 0.01\n${REPORT}`);
    const tasks = plan.map(({ id, depends_on }) => instructed(id, depends_on));
    const session = await begin(rig, { roles, config: CONFIG, agentFor: crew(tasks, {}, { hand: cli() }) });
    const began = performance.now();
    expect(await run(session)).toEqual(DONE);
    const took = performance.now() - began;
    const log = logOf(rig, session.session_id);
    expect(expectOrder(log, plan)).toBe(WORKERS);
    const bound = Math.max(longestChain(plan), TASKS / WORKERS);
    console.info(
      `${TASKS} programs, ${WORKERS} at once: ${Math.round(took)} ms, ${(took / bound).toFixed(1)} ms for each of the ${bound} that no order can spare`,
    );
  });
});
