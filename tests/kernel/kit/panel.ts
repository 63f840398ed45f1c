import type { Descriptor } from "../../../src/kernel/kit/descriptor.ts";
import type { Draft } from "../../../src/kernel/kit/draft.ts";
import { modeOf } from "../../../src/kernel/kit/mode.ts";
import type { Rules } from "../../../src/kernel/kit/rules.ts";
import type { KitState, Self, Subject } from "../../../src/kernel/kit/state.ts";
import type { Mode } from "../../../src/kernel/mode.ts";
import { from } from "../../../src/kernel/references.ts";
import type { JsonObject } from "../../../src/lib/json.ts";
import type { ResolvedConfiguration } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { replayDecisions } from "../../../src/runtime/replay.ts";
import { same } from "../../modes/invariants.ts";
import { kitRules } from "../../modes/kit-rules.ts";
import { ModeSession } from "../../modes/kit.ts";

export interface PanelInput {
  readonly topic: string;
  readonly members: readonly string[];
}

/** A member of the panel. Its id is its role id. */
export interface Member extends Subject {
  readonly opinion?: number;
}

/** The panel's own value: what its rules note down. The session's seat is the chair's. */
export interface Panel extends Self {
  readonly noted: readonly string[];
}

export type D = Draft<Panel, Member>;
type PanelDescriptor = Descriptor<PanelInput, Panel, Member>;
type PanelRules = Rules<PanelInput, Panel, Member>;

/** A small mode: every member gives an opinion, then the chair a verdict. */
export const panel: PanelDescriptor = {
  name: "panel",
  letter: "p",
  rules: 1,
  subject: "member",
  seat: "chair",
  messages: {
    requirement: { to: ["participant"], answers: ["opinion"] },
    report: { to: ["manager"], answers: ["verdict"] },
  },
  phases: { talking: { heard: "closing" }, closing: {} },
  states: {
    silent: { asked: "asked", left: "gone" },
    asked: { spoke: "heard", set_back: "silent", left: "gone" },
    heard: { asked: "asked", left: "gone" },
    gone: {},
  },
  events: { created: "seated", asked: "asked", failed: "set_back", left: "left" },
  input: {
    type: "object",
    required: ["topic", "members"],
    properties: { topic: { type: "string" }, members: { type: "array", items: { type: "string" } } },
  },
  seats: [{ at: "members.*", types: ["participant"] }],
  requirement: "topic",
  command: { summary: "a panel talks", examples: [], noun: "topic", say: "Say what about", options: [] },
  presentation: {
    statuses: {
      asked: { icon: ">", tone: "busy", stage: "begun" },
      silent: { icon: ".", tone: "quiet", stage: "waiting" },
      heard: { icon: "+", tone: "good", stage: "done" },
      gone: { icon: "x", tone: "bad", stage: "failed" },
    },
    parts: () => [],
  },
  shown: ({ id }) => ({ title: id, owner: id }),
};

export const panelRules: PanelRules = {
  begin: ({ members }) => ({ self: { noted: [] }, subjects: members.map((id) => ({ id })) }),
  seat: (_, member) =>
    member
      ? { seat: { type: "participant", role_id: member.id }, message: "requirement" }
      : { seat: { type: "manager", role_id: "chair" }, message: "report" },
  question: ({ self }, member) => ({
    payload: member ? { text: from(self.opened, "/input/topic") } : { status: "completed", summary: "All spoke." },
  }),
  goOn(draft) {
    const silent = draft.all().filter(({ status }) => status === "silent");
    for (const { id } of silent) draft.offer(id);
    if (silent.length > 0) return;
    draft.go("heard");
    draft.offer();
  },
  answered(draft, fact, member) {
    if (member) {
      draft.move(member.id, "spoke");
      draft.patchSubject(member.id, { opinion: fact.sequence });
    } else draft.finish("done");
    return undefined;
  },
  spent: (draft, { id }, code) => draft.move(id, "left", code),
  drop: (draft, { id }, reason) => draft.move(id, "left", reason),
  result: ({ self }) => ({ noted: [...self.noted] }),
};

/** Notes down what the rules heard. */
export function note(draft: D, text: string): void {
  draft.patch({ noted: [...draft.self.noted, text] });
}

const ROLES: readonly Role[] = [
  ...["ann", "bob", "cid"].map((role_id) => ({ role_id, type: "participant" as const, backend: "scripted" as const })),
  { role_id: "chair", type: "manager", backend: "scripted" },
];

const ZERO = `sha256:${"0".repeat(64)}`;

/** A session of a panel with the given differences. */
export class PanelSession extends ModeSession<KitState<Panel, Member>> {
  readonly #mode: Mode<KitState<Panel, Member>>;

  constructor(
    rules: Partial<PanelRules> = {},
    descriptor: Partial<PanelDescriptor> = {},
    members: readonly string[] = ["ann", "bob"],
    config: Partial<ResolvedConfiguration> = {},
  ) {
    const described = { ...panel, ...descriptor };
    const mode = modeOf(described, { ...panelRules, ...rules });
    super(mode, kitRules(described), { roles: ROLES, input: { topic: "Tea?", members: [...members] }, config });
    this.#mode = mode;
  }

  get noted(): readonly string[] {
    return this.state.self?.noted ?? [];
  }

  status(id: string): string | undefined {
    return this.state.subjects.get(id)?.status;
  }

  opinion(id: string, position = `${id} says so`, more: JsonObject = {}): this {
    return this.answer(id, "opinion", { round: 1, position, ...more });
  }

  /** The context in which a turn is requested, with the recorded texts. */
  context(id: string | undefined): JsonObject {
    return this.resolved(this.draft(id).context);
  }

  /** The session ends, and a replay of its stored facts decides everything again. */
  ends(): void {
    for (const { id, turn } of this.state.subjects.values()) if (turn) this.opinion(id);
    if (this.phase !== "closed") this.answer(undefined, "verdict", { conclusion: "Tea." });
    same(this.phase, "closed", "the phase");
    const lines = this.records.map((record) => JSON.stringify({ ...record, integrity: { hash: ZERO } }));
    const modes = new Map([[this.#mode.name, this.#mode as unknown as Mode<unknown>]]);
    const sequences = lines.map((_, index) => index + 1);
    const replayed = replayDecisions(sequences, (sequence) => lines[sequence - 1] ?? "", modes);
    same(replayed, { problems: [], awaited: 0 }, "the replay");
  }
}
