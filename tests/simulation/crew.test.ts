import { expect, it } from "vitest";
import type { TurnRequest } from "../../src/kernel/agent.ts";
import { Crew } from "./crew.ts";
import { SESSION_ID, World } from "./world.ts";

const HELD = new Set(["rate_limited", "authentication"]);

function request(subject: string): TurnRequest {
  return {
    session_id: SESSION_ID,
    stamp: { turn_id: `t-${subject}`, attempt: 1, run: 1, subject },
    role: { role_id: "hand", type: "worker" },
    payload: { message: { payload_type: "instruction", payload: {} }, expects: ["report", "error"], context: {} },
  } as unknown as TurnRequest;
}

it("repeats what a held role did until the hold is recorded", async () => {
  const world = World.of(3);
  const store = world.database.connect();
  const crew = new Crew(world);
  const subjects = Array.from({ length: 200 }, (_, index) => `T${index}`);
  const conducts = subjects.map((subject) => ({ asked: request(subject), conduct: crew.conduct(request(subject)) }));
  const held = conducts.filter(({ conduct }) => HELD.has(conduct.result.failure?.code ?? ""));
  expect(held.some(({ conduct }) => conduct.says.some(({ kind }) => kind === "envelope"))).toBe(true);
  for (const { asked, conduct } of held) expect(crew.conduct(asked)).toEqual(conduct);
  await store.create({ session_id: SESSION_ID, mode: "schedule", workspace: "/", created_at: world.time.now() });
  const lease = await store.acquire(SESSION_ID, { pid: 1, host: "here", started_at: world.time.now() });
  if (!lease.ok) throw new Error(lease.error.message);
  const changes = held.map(({ asked }) => ({ put: "turn", id: asked.stamp.turn_id, value: { held: 1 } }));
  await store.commit(lease.value, { expected: 0, records: [], changes });
  for (const { asked } of held) expect(HELD.has(crew.conduct(asked).result.failure?.code ?? "")).toBe(false);
});
