import fc from "fast-check";
import { describe, it } from "vitest";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { PayloadType } from "../../../src/protocol/payload.ts";
import { runs, Scene, task } from "./rig.ts";

/** One random thing that happens; what it is about is picked from what there is when it happens. */
interface Happening {
  readonly what: number;
  readonly which: number;
  readonly how: number;
  readonly tasks: readonly RandomTask[];
}

interface RandomTask {
  readonly on: readonly number[];
  readonly kind: number;
}

const IDS = ["a", "b", "c", "d", "e"];

const randomTask: fc.Arbitrary<RandomTask> = fc.record({ on: fc.array(fc.nat(4), { maxLength: 2 }), kind: fc.nat(9) });
const randomPlan = fc.array(randomTask, { minLength: 1, maxLength: 5 });
const happening: fc.Arbitrary<Happening> = fc.record({ what: fc.nat(99), which: fc.nat(99), how: fc.nat(99), tasks: randomPlan });

const settings = fc.record({
  plan_approval: fc.constantFrom("never" as const, "ask" as const),
  max_retries: fc.nat(2),
  max_escalations: fc.nat(2),
  max_review_rounds: fc.nat(2),
  check_rounds: fc.nat(1),
  max_clarification_rounds: fc.nat(2),
  retry_backoff_ms: fc.constantFrom(0, 1000),
});

/** A plan whose tasks mostly depend on earlier ones, now and then on anything: an invalid one is a case too. */
function tasksOf(tasks: readonly RandomTask[]) {
  return tasks.map(({ on, kind }, index) => {
    const dependencies = on.map((one) => IDS[kind === 9 ? one : index === 0 ? 99 : one % index]).filter((id) => id !== undefined);
    return task(IDS[index] ?? "z", {
      ...(dependencies.length > 0 ? { dependencies } : {}),
      ...(kind === 1 ? { risks: ["may break"] } : {}),
      ...(kind === 2 ? { review: "user" } : {}),
      ...(kind === 3 ? { review: "checks" } : {}),
      ...(kind === 3 || kind === 4 ? { acceptance_criteria: [runs("true")] } : {}),
      ...(kind === 5 ? { instruction: { summary: "Do so", acceptance_criteria: [runs("false")] } } : {}),
      ...(kind === 6 ? { description: "Do it differently" } : {}),
      ...(kind === 7 ? { assigned_to: { role_id: "nobody" } } : {}),
    });
  });
}

function pick<T>(list: readonly T[], which: number): T | undefined {
  return list[which % Math.max(1, list.length)];
}

/** The answers that agents give, right and wrong; most of the time one that is expected. */
function answer(expects: readonly PayloadType[], how: number, tasks: readonly RandomTask[]): [PayloadType, JsonObject] {
  const all: [PayloadType, JsonObject][] = [
    ["plan", { tasks: tasksOf(tasks) as unknown as JsonObject[] }],
    ["instruction", { summary: "So", acceptance_criteria: how % 2 ? [runs("true")] : [] }],
    ["instruction_proposal", { summary: "Perhaps so" }],
    ["report", { status: "completed" }],
    ["report", { status: "completed" }],
    ["report", { status: "proposal" }],
    ["report", { status: "blocked" }],
    ["report", { status: "blocked", questions: [{ question_id: "q", text: "What?" }] }],
    ["report", { status: "error" }],
    ["review", { decision: "approved" }],
    ["review", { decision: "approved" }],
    ["review", { decision: "changes_requested" }],
    ["clarification", { questions: [{ question_id: "q", text: "What?" }], status: "open" }],
    ["clarification", { questions: ["q", "q"].map((question_id) => ({ question_id, text: "What?" })), status: "open" }],
    ["clarification", { questions: [], status: "complete" }],
    ["error", { code: "agent_failed", message: "I cannot" }],
  ];
  const expected = all.filter(([type]) => expects.includes(type));
  return pick(how > 90 ? all : expected, how) ?? ["error", { code: "agent_failed", message: "I cannot" }];
}

function happen(scene: Scene, { what, which, how, tasks }: Happening): void {
  const { ledger, state } = scene.engine;
  const turns = [...ledger.turns.values()];
  const tickets = [...state.tickets.keys()];
  const turn = pick(turns, which);
  const ticket = pick(tickets, which);
  if (what < 60 && turn) {
    if (turn.status === "offered") scene.admit(turn.subject);
    else if (how < 12) scene.fails(turn.subject, pick(["timeout", "rate_limited", "malformed_output"], how));
    else scene.says(turn.subject, ...answer(scene.draft(turn.subject).expects, how, tasks));
  } else if (what < 70) {
    const timer = pick([...ledger.timers.keys()], which);
    const checks = pick([...ledger.checks.values()], which);
    const ask = pick([...ledger.asks.values()], which);
    if (how % 3 === 0 && timer !== undefined) scene.fires(timer);
    else if (how % 3 === 1 && checks?.subject !== undefined) scene.checked(checks.subject, true, how % 2 === 0);
    else if (ask?.kind === "questions") scene.answers({ [`${ask.ask_id}.q`]: "So" }, how % 4 === 2 ? "complete" : "answered");
    else if (ask?.kind === "review" && ask.subject !== undefined) scene.person("review", { decision: how % 2 ? "approved" : "changes_requested", ticket_id: ask.subject });
    else if (ask?.kind === "approval") scene.person("approval", { decision: pick(["approved", "changes_requested", "rejected"], how) ?? "", ...(how > 80 ? { plan: { tasks: tasksOf(tasks) as unknown as JsonObject[] } } : {}) });
  } else if (what < 74 && ticket !== undefined) scene.command("cancel", ticket);
  else if (what < 78 && ticket !== undefined) scene.command("retry", ticket);
  else if (what < 79) scene.command("cancel");
  else if (what < 82) scene.stops(pick(["signal", "waiting", "limit"] as const, how)).recovers(how % 2 === 0);
  else if (what < 84 && ledger.figures.closed && ticket !== undefined) {
    // The runtime finds nothing to do in a session that was reopened in vain.
    if (scene.reopens().command("retry", ticket).refused !== undefined) scene.stops("no_progress");
  } else if (what < 86) scene.person("plan", { tasks: tasksOf(tasks) as unknown as JsonObject[] });
  else if (what < 88) scene.person("approval", { decision: pick(["approved", "changes_requested", "rejected"], how) ?? "" });
  else if (what < 90) scene.answers(how % 2 ? { q: "So" } : {}, how % 3 ? "answered" : "complete");
  else if (what < 92 && ticket !== undefined) scene.person("review", { decision: how % 2 ? "approved" : "changes_requested", ticket_id: ticket });
  else if (what < 93) scene.requirement("Another");
  else if (what < 94) scene.command("tell", how % 2 ? ticket : undefined, { text: "Mind the gap" });
  else if (what < 96) scene.fires(pick(["retry:a", "notice", "retry:", "nothing"], how) ?? "");
  else if (what < 98 && turn) scene.fact("hand", "report", { status: "completed" }, { subject: turn.subject, turn: { turn_id: "t999", attempt: 0, run: 1 } });
  else scene.fact("scheduler", "check_result", { check_id: "k999", results: [] }, { subject: ticket });
}

describe("any facts in any order", () => {
  it("leave the session whole: nothing lost, nothing doubled, indexes true, evidence kept", () => {
    fc.assert(
      fc.property(settings, randomPlan, fc.boolean(), fc.array(happening, { minLength: 5, maxLength: 60 }), (config, plan, confirm, happenings) => {
        const scene = new Scene({ config, input: { confirm } });
        scene.planned(...tasksOf(plan));
        for (const one of happenings) happen(scene, one);
      }),
      { numRuns: Number(process.env["RUNS"] ?? 2000), maxSkipsPerRun: 0 },
    );
  }, 120_000);
});
