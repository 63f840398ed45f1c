import { describe, expect, it } from "vitest";
import { readInput } from "../../../src/kernel/kit/input.ts";
import { viewOf } from "../../../src/kernel/kit/state.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { validatePayload } from "../../../src/protocol/envelope.ts";
import { meeting } from "../../../src/modes/meeting/meeting.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { MeetingSession, ROLES } from "./session.ts";

const INSTANT: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);

describe("a meeting", () => {
  it("goes from the PM to the agents that it calls, until it finishes", () => {
    const session = new MeetingSession();
    expect(session.open).toEqual(["chair meeting_state"]);
    session.calls("architect", "What breaks?");
    expect(session.open).toEqual(["architect requirement architect"]);
    session.says("architect", "Indexes.").calls("devops").says("devops", "Backups.").finishes("# Keep it");
    expect(session.ended).toMatchObject({
      outcome: "done",
      report: {
        requirement: "Which store?",
        result: {
          conclusion: "# Keep it",
          pm: "chair",
          rounds: { held: 2, of: 5 },
          scratchpad: [
            { agent_name: "architect", content: "Indexes." },
            { agent_name: "devops", content: "Backups." },
          ],
        },
      },
    });
  });

  it("shows the PM the whole whiteboard, the round, and who can be asked", () => {
    const session = new MeetingSession({ max_rounds: 3 }).calls("architect").says("architect", "Indexes.");
    expect(session.board).toEqual({
      topic: "Which store?",
      scratchpad: [{ agent_name: "architect", content: "Indexes.", timestamp: INSTANT }],
      current_round: 1,
      max_rounds: 3,
      agents: [
        { agent_name: "architect", role: "Software architect", entries: 1 },
        { agent_name: "analyst", role: "Business analyst", entries: 0 },
        { agent_name: "devops", role: "devops", entries: 0 },
      ],
    });
  });

  it("shows an agent the PM's question and analyses, and never what another wrote", () => {
    const session = new MeetingSession().calls("architect").says("architect", "RAW-ARCHITECT");
    session.calls("analyst", "What does it cost?", { analysis: "Indexes break." }).says("analyst", "RAW-ANALYST");
    session.calls("devops", "And to run?", { analysis: "It costs." });
    const request = session.resolved(session.draft("devops"));
    expect(request.message).toEqual({ payload_type: "requirement", payload: { text: "And to run?" } });
    expect(request.context).toMatchObject({
      transcript: ["So far.", "Indexes break.", "It costs."].map((text) => ({
        source: "chair",
        payload_type: "pm_decision",
        payload: { text },
      })),
    });
    expect(JSON.stringify(request)).not.toMatch(/RAW|What does it cost/);
  });

  it("has its state in the words of the seed, at any time", () => {
    const session = new MeetingSession().calls("architect").says("architect", "Indexes.").calls("devops");
    const { self } = session.state;
    const projection = self && session.resolved(meeting.projection?.(viewOf(self, session.state)) ?? {});
    expect(projection).toMatchObject({
      topic: "Which store?",
      scratchpad: [{ agent_name: "architect", content: "Indexes.", timestamp: INSTANT }],
      current_round: 1,
      max_rounds: 5,
    });
  });

  it("is led by the first manager, or else participant, that is no agent, if the input names nobody", () => {
    const pm = (agents: string[], roles: readonly Role[]) => {
      const input = readInput(meeting, { topic: "Which store?", agents }, roles);
      return input.ok ? input.value.pm : input.error.map(({ pointer, what }) => `${pointer} ${what}`);
    };
    const [architect, analyst, devops] = ROLES.map(({ role_id }) => role_id) as [string, string, string];
    expect(pm([architect, analyst], ROLES)).toBe("chair");
    expect(pm([architect, analyst], ROLES.slice(0, 3))).toBe(devops);
    expect(pm([architect, devops], ROLES.slice(0, 3))).toEqual([expect.stringContaining("pm")]);
  });
});

describe("a decision of the PM", () => {
  it("for an agent that is not there is refused with the list, and asked again", () => {
    const session = new MeetingSession().calls("ghost");
    const { refused } = session.last.step;
    expect([session.refused, refused?.message, refused?.hint]).toEqual([
      "validation_failed /target_agent",
      '"ghost" is no agent of this meeting',
      "the agents are architect (Software architect), analyst (Business analyst), devops",
    ]);
    expect(session.open).toEqual(["chair meeting_state"]);
    expect(session.resolved(session.draft(undefined)).context).toMatchObject({
      refused: [{ pointer: "/target_agent", message: expect.stringContaining("architect (Software architect)") }],
    });
    expect(session.calls("chair").refused).toBe("validation_failed /target_agent");
    expect(session.calls("architect").open).toEqual(["architect requirement architect"]);
  });

  it("may name an agent by its display name, if only one has it", () => {
    expect(new MeetingSession().calls(" software ARCHITECT ").open).toEqual(["architect requirement architect"]);
    const twins = ROLES.map((role) => ({ ...role, display_name: "Expert" }));
    const session = new MeetingSession({}, {}, twins).calls("Expert");
    expect(session.refused).toBe("validation_failed /target_agent");
    expect(session.calls("devops").open).toEqual(["devops requirement devops"]);
  });

  it("that asks an agent again what it has just answered is refused once, and counts then", () => {
    const session = new MeetingSession({ max_rounds: 3 }).calls("devops").says("devops", "Backups.").calls("devops");
    expect([session.refused, session.open]).toEqual(["validation_failed /prompt_for_agent", ["chair meeting_state"]]);
    session.calls("devops", " Why?\n").says("devops", "Still backups.");
    expect(session.board).toMatchObject({ current_round: 2, agents: [{}, {}, { entries: 2 }] });
    session.calls("devops", "And to run?").says("devops", "Nothing.");
    expect(session.phase).toBe("concluding");
  });

  it("may repeat a question that was not answered, and put it to another", () => {
    const session = new MeetingSession({}, { max_retries: 0 }).calls("devops").fail("devops").calls("devops");
    expect(session.open).toEqual(["devops requirement devops"]);
    expect(session.says("devops", "Backups.").calls("architect").open).toEqual(["architect requirement architect"]);
  });

  it("is bare JSON where the agent's input_schema is a JSON Schema, and in words where that is in words", () => {
    const schema = { type: "object", required: ["question"], properties: { question: { type: "string" } } };
    const [architect, analyst, ...others] = ROLES as [Role, Role, ...Role[]];
    const roles = [
      { ...architect, input_schema: JSON.stringify(schema), metadata: { description: "Minds technical debt." } },
      { ...analyst, input_schema: "A number to judge." },
      ...others,
    ];
    const session = new MeetingSession({}, { max_retries: 9 }, roles);
    expect(session.board["agents"]).toMatchObject([
      { agent_name: "architect", description: "Minds technical debt.", input_schema: JSON.stringify(schema) },
      { agent_name: "analyst", input_schema: "A number to judge." },
      { agent_name: "devops" },
    ]);
    for (const prompt of ["What breaks?", '{"question": 1}', '```json\n{"question": "What?"}\n```']) {
      session.calls("architect", prompt);
      expect([prompt, session.refused]).toEqual([prompt, "validation_failed /prompt_for_agent"]);
    }
    expect(session.calls("architect", "{}").last.step.refused).toMatchObject({
      message: '"architect" takes only bare JSON of its input_schema: "question" is missing (at /question in it)',
      hint: `the schema is ${JSON.stringify(schema)}`,
    });
    expect(session.calls("architect", '{"question": "What?"}').open).toEqual(["architect requirement architect"]);
    session.says("architect", "Indexes.").calls("analyst", "What does it cost?");
    expect(session.open).toEqual(["analyst requirement analyst"]);
  });

  it("can be held by a schema to those who can be asked, and at last to the end", () => {
    const session = new MeetingSession({ max_rounds: 1, agents: ["architect", "devops"] });
    expect(session.draft(undefined).choices).toEqual({ "/target_agent": ["architect", "devops"] });
    session.calls("devops");
    expect(session.draft("devops")).not.toHaveProperty("choices");
    session.says("devops", "Backups.");
    expect(session.draft(undefined).choices).toEqual({ "/next_action": ["FINISH"] });
    const lost = new MeetingSession({ agents: ["devops"] }).command("cancel", "devops");
    expect(lost.draft(undefined).choices).toEqual({ "/next_action": ["FINISH"] });
  });

  it("needs a question to call, and a report to finish", () => {
    const pointerOf = (decision: JsonObject) => {
      const checked = validatePayload("pm_decision", { analysis: "So far.", ...decision });
      return checked.ok ? undefined : checked.error.pointer;
    };
    const [call, finish] = [{ next_action: "CALL_AGENT" }, { next_action: "FINISH" }];
    expect(pointerOf({ ...call, prompt_for_agent: "Why?" })).toBe("/target_agent");
    expect(pointerOf({ ...call, target_agent: "devops" })).toBe("/prompt_for_agent");
    expect(pointerOf({ ...call, target_agent: "devops", prompt_for_agent: " " })).toBe("/prompt_for_agent");
    expect(pointerOf({ ...finish, target_agent: "devops", prompt_for_agent: "Why?" })).toBe("/final_report");
    expect(pointerOf({ ...finish, final_report: " \n" })).toBe("/final_report");
    expect(pointerOf({ ...finish, final_report: "# Keep it" })).toBeUndefined();
    expect(pointerOf({ ...call, target_agent: "devops", prompt_for_agent: "Why?" })).toBeUndefined();
  });
});

describe("the end of a meeting", () => {
  it("comes after all rounds, when the PM has one call in which it may only finish", () => {
    const session = new MeetingSession({ max_rounds: 1 }).calls("devops").says("devops", "Backups.");
    expect([session.phase, session.board]).toMatchObject(["concluding", { current_round: 1, must_finish: true }]);
    session.calls("architect");
    expect([session.refused, session.last.step.refused?.hint]).toEqual([
      "validation_failed /next_action",
      "answer FINISH, with the final_report",
    ]);
    expect(session.finishes("# Done").ended).toMatchObject({
      outcome: "done",
      report: { result: { conclusion: "# Done" } },
    });
  });

  it("is forced with the whiteboard as its report if that call does not finish", () => {
    const session = new MeetingSession({ max_rounds: 1 }).calls("devops").says("devops", "Backups.");
    session.calls("devops").calls("devops").refusedFinish();
    expect(session.ended).toMatchObject({ outcome: "failed", reason: "no_report" });
    const result = session.ended?.report["result"];
    expect(result).toMatchObject({ scratchpad: [{ agent_name: "devops", content: "Backups." }] });
    expect(result).not.toHaveProperty("report");
  });

  it("comes earlier if the PM's decisions are refused until no retry is left", () => {
    const session = new MeetingSession().calls("ghost").calls("ghost").refusedFinish();
    expect([session.phase, session.board["must_finish"]]).toEqual(["concluding", true]);
    expect(session.finishes().ended).toMatchObject({ outcome: "done" });
  });

  it("comes when the PM gives up, and when no agent is left", () => {
    const lost = new MeetingSession().answer(undefined, "error", { code: "agent_failed", message: "I cannot." });
    expect(lost.ended).toMatchObject({ outcome: "failed", reason: "agent_failed" });
    const session = new MeetingSession({ agents: ["devops"] }).calls("devops").command("cancel", "devops");
    expect(session.board).toMatchObject({ agents: [], must_finish: true });
  });

  it("leaves each agent as it was: uncalled, heard, passed, or in the middle of its turn", () => {
    const session = new MeetingSession({}, { max_retries: 0 }).calls("devops").fail("devops");
    session.calls("analyst").says("analyst", "Dear.").finishes();
    expect(session.agents).toEqual(["architect uncalled", "analyst heard", "devops passed (agent_failed)"]);
    const cancelled = new MeetingSession().calls("devops").command("cancel");
    expect(cancelled.agents).toEqual([
      "architect uncalled (cancelled)",
      "analyst uncalled (cancelled)",
      "devops left (cancelled)",
    ]);
  });

  it("leaves a document: the report, or the whiteboard", () => {
    const { document } = meeting.presentation;
    const report = { session_id: "m-1", requirement: "Which store?" };
    const scratchpad = [{ agent_name: "devops", content: "Backups." }];
    const result = { output_dir: "reports", scratchpad };
    expect(document?.({ ...report, result: { ...result, conclusion: "# Keep it" } })).toEqual({
      path: "reports/meeting-m-1.md",
      text: "# Keep it",
    });
    expect(document?.({ ...report, result }).text).toBe(
      "# Which store?\n\nThe meeting ended without a report. This is its whiteboard.\n\n## devops\n\nBackups.",
    );
  });
});

describe("an agent", () => {
  it("that fails for good passes: the whiteboard says why, and the round counts", () => {
    const session = new MeetingSession().calls("devops").fail("devops");
    expect(session.open).toEqual(["retry:devops in 1000 ms"]);
    session.fireTimer("retry:devops").answer("devops", "report", { status: "error", summary: "No." });
    session.fireTimer("retry:devops").answer("devops", "report", { status: "blocked" });
    expect(session.agents[2]).toBe("devops passed (needs_input)");
    expect(session.board).toMatchObject({
      current_round: 1,
      scratchpad: [{ agent_name: "devops", content: "(no answer: needs_input)" }],
    });
    expect(session.calls("devops").says("devops", "Backups.").board).toMatchObject({ current_round: 2 });
  });

  it("answers with its contribution: anything else is refused, and asked again", () => {
    const session = new MeetingSession().calls("devops").answer("devops", "report", { status: "proposal" });
    expect(session.refused).toBe("validation_failed /status");
    expect(session.says("devops", " ").refused).toBe("validation_failed /summary");
    expect(session.open).toEqual(["devops requirement devops"]);
  });

  it("is asked the same again after a stop, and hears a person's note", () => {
    const session = new MeetingSession().calls("devops", "And to run?").command("tell", "devops", { text: "Short." });
    session.admit("devops").stop().recover();
    expect(session.resolved(session.draft("devops"))).toMatchObject({
      message: { payload: { text: "And to run?" } },
      context: { notes: ["Short."] },
    });
  });

  it("that a person dropped cannot be called, and is not asked any more", () => {
    const session = new MeetingSession().calls("devops").command("cancel", "devops").calls("devops");
    expect([session.refused, session.agents[2]]).toEqual([
      "validation_failed /target_agent",
      "devops left (cancelled)",
    ]);
    expect(session.board).toMatchObject({ current_round: 0, scratchpad: [] });
  });
});

describe("a PM that fails", () => {
  it("is tried again, then stops the meeting, and is asked again when it is resumed", () => {
    const session = new MeetingSession({}, { max_retries: 0 }).fail(undefined);
    expect(session.last.step.commands).toMatchObject([
      { do: "stop_session", message: "the PM chair failed once, with agent_failed" },
    ]);
    expect(session.stop("manager_failed").recover().open).toEqual(["chair meeting_state"]);
    expect(session.finishes().ended).toMatchObject({ outcome: "done" });
  });
});
