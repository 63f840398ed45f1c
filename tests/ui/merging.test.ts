import { describe, expect, it } from "vitest";
import { schedulePresentation } from "../../src/modes/schedule/presentation.ts";
import { recordLines } from "../../src/ui/record-lines.ts";
import { columnsOf } from "../../src/ui/subject-columns.ts";
import { ticketsOf } from "../../src/ui/report/figures.ts";
import { dashboardFrame } from "../../src/ui/tui/frame.ts";
import { keysFor } from "../../src/ui/tui/keys.ts";
import { INITIAL_VIEW } from "../../src/ui/tui/view.ts";
import { effect, record } from "./records.ts";
import { sceneOf, textOf } from "./tui/scenes.ts";

const IDS = ["a", "b", "c"];

const CREATED = record("plan", {}, { effects: IDS.map((id) => effect(id, null, "awaiting_review")) }, "boss");

/** Approves the work on a ticket, as the record with this sequence. */
const approved = (ticket_id: string, sequence: number) =>
  record(
    "review",
    { decision: "approved" },
    {
      ticket_id,
      opened: { checks: [{ check_id: `km${sequence}`, ticket_id }] },
      changed: [{ ticket_id, reason: "waiting_for_merge" }],
    },
    "boss",
  );

const CONFLICT = "it conflicts with a (first) in a.txt (1 place)";

const ENDED = [
  record(
    "check_result",
    { check_id: "km9", results: [], merge: { state: "merged", tip: "0" } },
    {
      ticket_id: "a",
      effects: [effect("a", "awaiting_review", "done", "merged")],
      ended: { checks: ["km9"] },
    },
  ),
  record(
    "check_result",
    {
      check_id: "km10",
      results: [{ criterion: { text: CONFLICT }, exit_code: null, passed: false }],
    },
    {
      ticket_id: "b",
      effects: [effect("b", "awaiting_review", "in_progress", "merge_conflict")],
      ended: { checks: ["km10"] },
    },
    "scheduler",
  ),
];

const QUEUE = [CREATED, approved("b", 10), approved("a", 9), approved("c", 11)];

const page = (records: typeof QUEUE, selected: string) =>
  textOf(dashboardFrame(sceneOf(records), { ...INITIAL_VIEW, page: "ticket", selected }, 120, 24));

describe("work that is merged", () => {
  it("waits in the order of approval, while that of the first is checked", () => {
    const lines = textOf(dashboardFrame(sceneOf(QUEUE), INITIAL_VIEW, 80, 24));
    expect(lines).toContain("a: checking the merged tree");
    expect(lines).toContain("b: waiting to be merged (2nd)");
    expect(lines).toContain("c: waiting to be merged (3rd)");
    expect(page(QUEUE, "b")).toMatch(/state +R waiting to be merged \(2nd\)/);
    expect(recordLines(approved("a", 9)).map(({ text }) => text)).toEqual(["waiting to be merged"]);
  });

  it("is merged, or sent back with the words of the conflict", () => {
    const records = [...QUEUE, ...ENDED];
    const lines = textOf(dashboardFrame(sceneOf(records), INITIAL_VIEW, 80, 24));
    expect(lines).toMatch(/\+ a +merged /);
    expect(lines).toContain(`b: sent back: ${CONFLICT}`.slice(0, 40));
    expect(lines).toContain("c: checking the merged tree");
    expect(page(records, "b")).toContain(`sent back: ${CONFLICT}`);
    expect(page(records, "a")).toMatch(/state +\+ merged /);
    expect(recordLines(ENDED[1] as (typeof ENDED)[0]).map(({ text }) => text)).toEqual([`sent back: ${CONFLICT}`]);
    expect(keysFor(sceneOf(records), "a").retries).toBe(false);
  });

  it("stands so in reports, too", () => {
    const { model: session } = sceneOf([...QUEUE, ...ENDED]);
    const presentation = schedulePresentation;
    const state = columnsOf({ name: "report", presentation }).find(({ heading }) => heading === "state");
    const tickets = ticketsOf({
      session,
      presentation,
    } as unknown as Parameters<typeof ticketsOf>[0]);
    expect(tickets.map((ticket) => state?.cell(ticket))).toEqual([
      "merged",
      `sent back: ${CONFLICT}`,
      "checking the merged tree",
    ]);
  });
});
