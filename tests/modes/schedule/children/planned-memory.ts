import { scheduleMode } from "../../../../src/modes/schedule/mode.ts";
import type { Fact } from "../../../../src/kernel/mode.ts";
import { CONFIG } from "../../kit.ts";
import { CREW } from "../session.ts";

// Prints how many bytes each ticket of a large plan takes beside its task. Run with --expose-gc.
const TICKETS = 16_000;

const tasks = Array.from({ length: TICKETS }, (_, place) => ({
  task_id: `task-${place}`,
  description: `Part ${place}`,
  dependencies: place < 2 ? [] : [`task-${place - 1}`, `task-${place - 2}`],
  instruction: { summary: "Do it" },
}));
const words = [
  { payload_type: "session_opened", payload: { config: CONFIG, roles: CREW, input: { plan_given: true } } },
  { payload_type: "requirement", payload: { text: "Mend it" } },
  { payload_type: "plan", payload: { tasks: JSON.parse(JSON.stringify(tasks)) as object[] } },
];

const state = scheduleMode.empty();
const heap = words.map(({ payload_type, payload }, index) => {
  const header = { sequence: index + 1, received_at: "2026-01-01T00:00:00Z", source: "user" };
  const { changes } = scheduleMode.decide(state, { ...header, payload_type, payload } as unknown as Fact);
  for (const change of changes) scheduleMode.apply(state, change);
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
});
const [, before = 0, after = 0] = heap;
console.log(Math.round((after - before) / state.tickets.size));
