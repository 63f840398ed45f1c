import type { Speaker } from "../../../src/kernel/kit/speakers.ts";
import type { KitState } from "../../../src/kernel/kit/state.ts";
import { type JsonObject, listOf, objectOf, textOf, textWithin } from "../../../src/lib/json.ts";
import { type Conversation, conversation } from "../../../src/modes/conversation/conversation.ts";
import { conversationMode } from "../../../src/modes/conversation/mode.ts";
import type { ResolvedConfiguration, Usage } from "../../../src/protocol/payload.ts";
import type { Role } from "../../../src/protocol/roles.ts";
import { kitRules } from "../kit-rules.ts";
import { ModeSession } from "../kit.ts";

export const ROLES: readonly Role[] = [
  { role_id: "ann", type: "participant", backend: "scripted" },
  { role_id: "ben", type: "worker", backend: "scripted" },
  { role_id: "cat", type: "manager", backend: "scripted" },
];

/** A session of the conversation mode, by default of two participants. */
export class ConversationSession extends ModeSession<KitState<Conversation, Speaker>> {
  constructor(input: JsonObject = {}, config: Partial<ResolvedConfiguration> = {}) {
    const given = { start: "Hello?", participants: ["ann", "ben"], ...input };
    super(conversationMode, kitRules(conversation), { roles: ROLES, input: given, config });
  }

  /** Whose turn it is. */
  get speaking(): string {
    const [turn] = this.engine.ledger.turns.values();
    return turn?.subject ?? "";
  }

  /** The participant that has a turn contributes; what it says is its name and the number of its record, unless it is given. */
  says(summary = `${this.speaking} ${this.records.length}`, usage?: Usage): this {
    return this.answer(this.speaking, "report", { status: "completed", summary }, usage);
  }

  /** The message to whoever has a turn. */
  get told(): JsonObject {
    return objectOf(this.#asked.message.payload);
  }

  /** What whoever has a turn is shown of what was said, as `author: text`. */
  get shown(): string[] {
    const entries = listOf(this.#asked.context["transcript"]).map(objectOf);
    return entries.map(({ source, payload }) => `${textOf(source)}: ${textWithin(payload)}`);
  }

  get result(): JsonObject {
    return objectOf(this.ended?.report["result"]);
  }

  get #asked() {
    return this.resolved(this.draft(this.speaking));
  }
}
