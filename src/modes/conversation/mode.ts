import { parseStopCondition } from "../../harness/parse-stop-condition.ts";
import { heldBy } from "../../harness/stop-conditions.ts";
import { ConversationTranscript } from "../../harness/transcript.ts";
import { modeOf } from "../../kernel/kit/mode.ts";
import { lackingIn } from "../../kernel/kit/results.ts";
import { seated, seatOf } from "../../kernel/kit/speakers.ts";
import { contributionsIn } from "../../kernel/kit/transcript.ts";
import { from } from "../../kernel/references.ts";
import { defined } from "../../lib/json.ts";
import { conversation, type Conversation } from "./conversation.ts";

export const conversationMode = modeOf(conversation, {
  begin({ participants, max_turns, stop, continued = { entries: [] } }, { payload: { roles } }) {
    const said = contributionsIn(continued);
    const last = said.findLast(({ source }) => participants.includes(source))?.source;
    const earlier = { entries: continued.entries.length, contributions: said.length, ...defined({ last }) };
    const self = { max_turns, earlier, contributions: [], ...defined({ stop }) };
    return { self, subjects: participants.map((id) => seated(id, roles)) };
  },
  seat: (_self, speaker) => ({ seat: seatOf(speaker), message: "requirement" }),
  question({ self: { opened, earlier, contributions, max_turns } }) {
    const [last, turn] = [contributions.at(-1), contributions.length + 1];
    const start = from(opened, "/input/start");
    const entries = Array.from({ length: earlier.entries }, (_, at) => from(opened, `/input/continued/entries/${at}`));
    const opening = { sequence: opened, source: "user", payload_type: "requirement", payload: { text: start } };
    return {
      payload: { text: last ? from(last.record, "/summary") : start, metadata: { from: last?.role_id ?? "user" } },
      // With nothing before it, the start is the requirement, which is shown anyway.
      context: { transcript: entries.length > 0 ? [...entries, opening] : [], metadata: { turn, max_turns } },
      view: "summary",
    };
  },
  goOn(draft) {
    const last = draft.self.contributions.at(-1)?.role_id;
    const all = draft.all();
    const after = all.findIndex(({ id }) => id === (last ?? draft.self.earlier.last)) + 1;
    const next = [...all.slice(after), ...all.slice(0, after)].find(({ status }) => status !== "passed");
    // Nobody answers itself.
    if (next && next.id !== last) draft.offer(next.id);
    else draft.finish("failed", "nobody_left");
  },
  answered(draft, fact, speaker) {
    if (fact.payload_type !== "report" || !speaker) return undefined;
    const lacking = lackingIn(fact.payload, "a participant answers with its contribution");
    if (lacking) return lacking;
    const { sequence: record, usage, payload } = fact;
    const tokens = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
    draft.move(speaker.id, "contributed");
    draft.patchSubject(speaker.id, { said: record });
    draft.patch({ contributions: [...draft.self.contributions, { role_id: speaker.id, record, tokens }] });
    draft.patch({ stopped_by: stoppedBy(draft.self, payload.summary ?? "") });
    if (draft.self.stopped_by?.length) draft.finish("done");
    return undefined;
  },
  result(session) {
    const { opened, ended, earlier, contributions, max_turns, stopped_by = [] } = session.self;
    const read = (field: string) => from(opened, `/input/continued/${field}`);
    return {
      stopped_by: ended?.outcome === "cancelled" ? ["abort"] : stopped_by,
      turns: { held: contributions.length, of: max_turns },
      participants: session.all().map(({ id, status, reason }) => ({ role_id: id, status, ...defined({ reason }) })),
      contributions: contributions.map(({ role_id, record }) => ({ role_id, text: from(record, "/summary") })),
      ...(earlier.entries > 0 ? { continued: { session_id: read("session_id"), up_to: read("up_to") } } : {}),
    };
  },
});

/** Everything that holds after a contribution with this text: the condition before the limit. */
function stoppedBy({ stop, earlier, contributions, max_turns }: Conversation, text: string): string[] {
  const condition = parseStopCondition(stop ?? "");
  // A written condition counts turns and tokens, and reads the last text only, so the state has no other.
  const before = Array.from({ length: earlier.contributions }, () => ({ role_id: "earlier", tokens: 0 }));
  const turns = [...before, ...contributions].map(({ role_id, tokens }, at, all) => ({
    participant: role_id,
    message: { role: "assistant" as const, content: at === all.length - 1 ? text : "" },
    usage: { outputTokens: tokens },
  }));
  const held = condition.ok ? heldBy(condition.value, new ConversationTranscript(turns)) : [];
  return [...held, ...(contributions.length >= max_turns ? ["max_turns"] : [])];
}
