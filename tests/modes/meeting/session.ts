import type { KitState } from "../../../src/kernel/kit/state.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import { type Agent, type Meeting, meeting } from "../../../src/modes/meeting/meeting.ts";
import { meetingMode } from "../../../src/modes/meeting/mode.ts";
import type { ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";

export const ROLES: readonly Role[] = [
  { role_id: "architect", type: "participant", display_name: "Software architect", backend: "scripted" },
  { role_id: "analyst", type: "worker", display_name: "Business analyst", backend: "scripted" },
  { role_id: "devops", type: "participant", backend: "scripted" },
  { role_id: "chair", type: "manager", backend: "scripted" },
];

/** A session of the meeting mode, by default of three agents and a PM. */
export class MeetingSession extends ModeSession<KitState<Meeting, Agent>> {
  constructor(input: JsonObject = {}, config: Partial<ResolvedConfiguration> = {}, roles: readonly Role[] = ROLES) {
    const given = { topic: "Which store?", agents: ["architect", "analyst", "devops"], pm: "chair", ...input };
    super(meetingMode, kitRules(meeting), { roles, input: given, config });
  }

  /** The PM decides, with an analysis that nobody else says. */
  decides(decision: JsonObject): this {
    return this.answer(undefined, "pm_decision", { analysis: "So far.", ...decision });
  }

  calls(target_agent: string, prompt_for_agent = "Why?", more: JsonObject = {}): this {
    return this.decides({ next_action: "CALL_AGENT", target_agent, prompt_for_agent, ...more });
  }

  finishes(final_report = "# Keep it"): this {
    return this.decides({ next_action: "FINISH", final_report });
  }

  /** The PM's turn ends with nothing but a report that is empty. */
  refusedFinish(): this {
    const message = "/final_report must have more than blanks.";
    const refused = [{ payload_type: "pm_decision", code: "validation_failed", pointer: "/final_report", message }];
    return this.fail(undefined, "malformed_output", { refused });
  }

  says(agent: string, summary: string): this {
    return this.answer(agent, "report", { status: "completed", summary });
  }

  /** What the PM is asked with. */
  get board(): JsonObject {
    return this.resolved(this.draft(undefined)).message.payload as JsonObject;
  }

  /** Each agent with its status, and why it has it. */
  get agents(): string[] {
    return [...this.state.subjects.values()].map(({ id, status, reason }) =>
      reason === undefined ? `${id} ${status}` : `${id} ${status} (${reason})`,
    );
  }
}
