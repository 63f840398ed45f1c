import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/lib/canonical.ts";
import { newRig } from "./rig.ts";
import { foreignCrew } from "./roles.ts";
import { begin, defaults, DONE, logFolder, logOf, reportOf, type Rig, run } from "./sessions.ts";

/** One risky task that is discussed, one that depends on it, and one that is blocked until a person answers. */
function planFile(rig: Rig): string {
  const write = (name: string) => ({ text: `Write ${name}`, command: ["sh", "-c", `echo ${name} >${name}`] });
  const file = (name: string) => ({
    expected_outputs: [name],
    acceptance_criteria: [{ text: `${name} is there`, command: ["test", "-s", name] }],
  });
  const path = join(rig.workspace, "plan.json");
  writeFileSync(
    path,
    JSON.stringify({
      tasks: [
        { task_id: "risky", description: "Release it", risks: ["It may break"], ...file("risky.txt") },
        { task_id: "after", description: "Announce it", dependencies: ["risky"], ...file("after.txt") },
        {
          task_id: "stuck",
          description: "Use a tool",
          instruction: {
            summary: "Use it",
            steps: [{ text: "Use the tool", command: ["no-such-tool"] }, write("stuck.txt")],
          },
          ...file("stuck.txt"),
        },
      ],
    }),
  );
  return path;
}

describe.each([
  ["sh", "py"],
  ["py", "sh"],
] as const)("a manager in %s with a worker in %s", (manager, worker) => {
  it("carry a plan from questions to the report, in files as specified", async () => {
    const rig = newRig();
    const roles = foreignCrew(manager, worker, { boss: { CREW_PLAN: planFile(rig) } });
    const session = await begin(rig, { roles });
    const { session_id } = session;
    expect(await run(session, defaults(rig, session))).toEqual(DONE);

    const log = logOf(rig, session_id);
    const said = (ticket?: string) =>
      log
        .filter(
          ({ record, source }) =>
            record.ticket_id === ticket && record.disposition === "applied" && source !== "scheduler",
        )
        .filter(({ payload }) => payload["status"] !== "progress")
        .map(({ payload_type, payload }) =>
          payload_type === "report" ? `report ${payload["status"] as string}` : payload_type,
        );
    expect(said("risky")).toEqual([
      "instruction_proposal",
      "report proposal",
      "instruction",
      "artifact_ref",
      "report completed",
      "review",
    ]);
    expect(said("after")).toEqual(["instruction", "artifact_ref", "report completed", "review"]);
    // What a person answers is about no ticket on the wire: the question's id says which one asked.
    expect(said()).toEqual([
      "requirement",
      "clarification",
      "clarification_response",
      "plan",
      "clarification_response",
    ]);
    expect(said("stuck")).toEqual(
      expect.arrayContaining(["report blocked", "clarification", "instruction", "report completed", "review"]),
    );
    const checked = log.filter(({ payload_type }) => payload_type === "check_result");
    expect(new Set(checked.map(({ record }) => record.ticket_id))).toEqual(new Set(["after", "risky", "stuck"]));

    expectLogFolder(rig, session_id);
    expectReport(rig, session_id);
  });
});

function expectLogFolder(rig: Rig, session_id: string): void {
  const folder = logFolder(rig, session_id);
  const entries = readdirSync(folder).toSorted();
  const records = entries.filter((name) => name !== "events.log" && name !== "output");
  expect(entries.length - records.length).toBeLessThanOrEqual(2);
  for (const [index, name] of records.entries()) {
    const bytes = readFileSync(join(folder, name), "utf8");
    const record = JSON.parse(bytes) as { payload_type: string };
    expect(name).toBe(`${String(index + 1).padStart(6, "0")}-${record.payload_type}.json`);
    expect(bytes).toBe(`${canonicalJson(record)}\n`);
  }
  expect(records[0]).toBe("000001-session_opened.json");
  expect(records.at(-1)).toMatch(/-session_closed\.json$/);
  const lines = readFileSync(join(folder, "events.log"), "utf8").trimEnd().split("\n");
  expect(lines.filter((line) => !/^\[\d{4}-\d\d-\d\dT[\d:.]+Z\]\[[^\]]+\]\[[a-z_]+\] .+$/.test(line))).toEqual([]);
  expect(lines.some((line) => /\[risky\]\[proposal_needed\] #\d+ pending -> discussing/.test(line))).toBe(true);
}

function expectReport(rig: Rig, session_id: string): void {
  const report = reportOf(rig, session_id);
  expect(Object.keys(report).toSorted()).toEqual([
    "clarifications",
    "finished_at",
    "log",
    "mode",
    "next_steps",
    "outcome",
    "recoveries",
    "requirement",
    "session_id",
    "started_at",
    "tickets",
    "usage",
  ]);
  const head = logOf(rig, session_id).at(-3);
  expect(report).toMatchObject({
    session_id,
    mode: "schedule",
    requirement: "Do the thing",
    outcome: "done",
    recoveries: 0,
    usage: { input_tokens: null, output_tokens: null, cost_usd: null },
    log: { records: head?.integrity.sequence, head: head?.integrity.hash },
  });
  const tickets = report["tickets"] as Record<string, unknown>[];
  expect(tickets.map(({ ticket_id }) => ticket_id)).toEqual(["risky", "after", "stuck"]);
  for (const ticket of tickets) {
    const known = [
      "ticket_id",
      "task_id",
      "description",
      "status",
      "reason",
      "blocked_by",
      "owner",
      "attempts",
      "reviews",
      "checks_passed",
      "summary",
      "outputs",
      "artifacts",
      "issues",
      "usage",
    ];
    expect(Object.keys(ticket).filter((name) => !known.includes(name))).toEqual([]);
    const name = `${ticket["ticket_id"] as string}.txt`;
    const [artifact] = ticket["artifacts"] as Record<string, string>[];
    expect(ticket).toMatchObject({ status: "done", owner: "hand", reviews: 1, outputs: [{ label: name, uri: name }] });
    expect(artifact).toMatchObject({ label: name, digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });
    expect(readFileSync(join(rig.home, artifact?.["uri"] ?? ""), "utf8")).toBe(
      readFileSync(join(rig.workspace, name), "utf8"),
    );
  }
  expect(readFileSync(join(rig.home, "sessions", session_id, "final_report.md"), "utf8")).toContain(session_id);
}
