import { describe, expect, it } from "vitest";
import { scriptedAgent } from "../../src/agents/scripted.ts";
import { modeOf } from "../../src/kernel/kit/mode.ts";
import type { KitState } from "../../src/kernel/kit/state.ts";
import type { FactOf, Mode } from "../../src/kernel/mode.ts";
import { CONFIGURATION_DEFAULTS, type PayloadByType } from "../../src/protocol/payload.ts";
import { createSession } from "../../src/runtime/create.ts";
import { resumeSession } from "../../src/runtime/resume.ts";
import { type D, type Member, note, type Panel, panel, panelRules, ROLES } from "../kernel/kit/panel.ts";
import { value } from "../results.ts";
import { newRig } from "./rig.ts";
import { DONE, isAsked, logOf, type Rig, surroundings } from "./sessions.ts";

/** A person lets the panel begin, and whoever wants to speaks. */
const mode: Mode<KitState<Panel, Member>> = modeOf(
  { ...panel, name: "hall", outsiders: ["opinion"], lines: { opinion: { text: "/position" } } },
  {
    ...panelRules,
    question: (session, member) => ({ ...panelRules.question(session, member), view: "full" }),
    goOn(draft) {
      if (draft.self.noted.length === 0) draft.ask(undefined, { text: "Begin?" });
      else panelRules.goOn(draft);
    },
    told: (draft, text) => note(draft, `told ${text}`),
    on: {
      opinion: (draft: D, { actor, payload }: FactOf<"opinion">) => {
        note(draft, `${actor?.user} said ${payload.position}`);
        return undefined;
      },
    },
  },
);

const BEA = { user: "bea", host: "elsewhere", via: "test" };
const EVE = { user: "eve", host: "elsewhere", via: "test" };

/** Begins a session, whose requests are kept. */
async function begin(rig: Rig) {
  const requests: PayloadByType["turn_request"][] = [];
  const agent = scriptedAgent(({ role, payload }) => {
    requests.push(payload);
    return role.role_id === "chair"
      ? { payload_type: "verdict", payload: { conclusion: "Tea." } }
      : { payload_type: "opinion", payload: { round: 1, position: `${role.role_id} says so` } };
  });
  const around = surroundings(rig, { agentFor: () => agent, childMode: mode });
  const session = await createSession(around, mode, {
    session_id: "p-1",
    input: { topic: "Tea?", members: ["ann", "bob"] },
    config: { ...CONFIGURATION_DEFAULTS, plan_approval: "never", workspace: rig.workspace, budget: {} },
    roles: ROLES,
    workspace: rig.workspace,
    started_by: BEA,
    facts: [],
  });
  return { session: value(session), around, requests };
}

function put(rig: Rig, actor: typeof BEA, payload_type: string, payload: object) {
  return rig.store.inbox.put("p-1", { payload_type, payload: { ...payload } }, actor);
}

const YES = { answers: [{ question_id: "q1", text: "yes" }], status: "answered" };
const NO_TEA = { round: 1, position: "No tea.", metadata: { source: "ann", actor: { user: "ann" } } };

describe("a mode of the kit in the runtime", () => {
  it("asks a person, stops without one, and hears the answer and an outsider after a resume", async () => {
    const rig = newRig();
    const { session, around, requests } = await begin(rig);
    expect(value(await session.run({ waitForPeople: false }))).toMatchObject({ kind: "stopped", reason: "waiting" });

    const resumed = value(await resumeSession(around, mode, value(rig.store.session("p-1"))));
    const asked = isAsked(resumed);
    const ended = resumed.run({ waitForPeople: true });
    expect(await asked).toMatchObject({ kind: "questions", ask_id: "c1" });
    value(await put(rig, EVE, "opinion", NO_TEA));
    value(await put(rig, BEA, "clarification_response", YES));
    expect(value(await ended)).toEqual(DONE);
    const [report] = logOf(rig, "p-1", "final_report");
    expect(report?.payload["result"]).toEqual({ noted: ["eve said No tea.", "told yes"] });
    const shown = requests.map(({ role_id, context: { transcript = [] } }) => [
      role_id,
      new Set(transcript.map(({ source }) => source)),
    ]);
    expect(Object.fromEntries(shown)).toEqual({
      ann: new Set(["user"]),
      bob: new Set(["user"]),
      chair: new Set(["user", "ann", "bob"]),
    });
    expect(requests[0]?.context.clarifications).toEqual([{ question: "Begin?", answer: "yes" }]);
  });

  it("refuses a message that outsiders may not send", async () => {
    const rig = newRig();
    const { session } = await begin(rig);
    const asked = isAsked(session);
    const ended = session.run({ waitForPeople: true });
    await asked;
    value(await put(rig, EVE, "verdict", { conclusion: "No tea." }));
    value(await put(rig, BEA, "clarification_response", YES));
    expect(value(await ended)).toEqual(DONE);
    expect(logOf(rig, "p-1", "error")).toMatchObject([
      { payload: { code: "not_permitted" }, record: { disposition: "refused", actor: EVE } },
    ]);
  });
});
